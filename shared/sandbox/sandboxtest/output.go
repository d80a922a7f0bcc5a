package sandboxtest

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

func testOutput(t *testing.T, s *sandbox) {
	t.Run("a late reader gets all, and the exit again", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "seq 1000; exit 2"})
		first := s.wait(t, id)
		for range 2 {
			if again := s.wait(t, id); again != first {
				t.Errorf("read again: %+v", again)
			}
		}
		out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, 0, 0, 0)
		if err != nil || !out.Ended {
			t.Fatalf("ReadOutput = %+v, %v", out, err)
		}
		end, err := s.Provider.ReadOutput(ctx(t), s.ref, id, out.Next, 0, time.Minute)
		if err != nil || !end.Ended || len(end.Bytes) != 0 || *end.Exit != exited(2) {
			t.Errorf("ReadOutput at the end = %+v, %v", end, err)
		}
	})
	t.Run("only edges are offsets", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "for i in 1 2 3; do echo $i; sleep 0.05; done"})
		s.wait(t, id)
		out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		edges := map[int64]bool{0: true}
		for at := int64(0); at < out.Next; {
			at += spool.HeaderBytes + int64(out.Bytes[at+3])<<8 + int64(out.Bytes[at+4])
			edges[at] = true
		}
		for at := int64(-1); at <= out.Next+1; at++ {
			_, err := s.Provider.ReadOutput(ctx(t), s.ref, id, at, 0, 0)
			if want := map[bool]berth.Code{true: "", false: berth.CodeInvalid}[edges[at]]; berth.CodeOf(err) != want {
				t.Errorf("ReadOutput(%d): %v, an edge: %v", at, err, edges[at])
			}
		}
	})
	t.Run("a small limit gives one frame at a time", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "head -c 200000 /dev/zero | tr '\\0' x"})
		s.wait(t, id)
		var r result
		reads := 0
		for offset := int64(0); ; reads++ {
			out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, 1, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r.add(t, out)
			offset = out.Next
			if out.Ended {
				break
			}
		}
		if len(r.stdout) != 200000 || reads < 4 {
			t.Errorf("%d bytes in %d reads", len(r.stdout), reads)
		}
	})
	t.Run("a reader is woken by output", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "sleep 0.5; echo x; sleep 600"})
		s.untilOutput(t, id)
		if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
			t.Fatal(err)
		}
		s.wait(t, id)
	})
	t.Run("a reader's wait is bounded", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "sleep 600"})
		began, offset := time.Now(), int64(0)
		for time.Since(began) < 500*time.Millisecond {
			out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, 0, 200*time.Millisecond)
			if err != nil || out.Ended || len(out.Bytes) > 0 && offset > 0 {
				t.Fatalf("ReadOutput = %+v, %v", out, err)
			}
			offset = out.Next
		}
		if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
			t.Fatal(err)
		}
		s.wait(t, id)
	})
	t.Run("output beyond the cap leaves a mark, and the command goes on", func(t *testing.T) {
		got := s.run(t, berth.CommandSpec{Script: "head -c 300000 /dev/zero | tr '\\0' x; echo more >&2; exit 6", OutputCap: 100_000})
		if len(got.stdout) != 100_000 || got.stderr != "" || !strings.Contains(got.marks, "100000 bytes") || got.exit != exited(6) {
			t.Errorf("%d bytes, %q, %q, %+v", len(got.stdout), got.stderr, got.marks, got.exit)
		}
		exact := s.run(t, berth.CommandSpec{Script: "head -c 1000 /dev/zero", OutputCap: 1000})
		if len(exact.stdout) != 1000 || exact.marks != "" {
			t.Errorf("output of exactly the cap: %d bytes, mark %q", len(exact.stdout), exact.marks)
		}
	})
	t.Run("runes over the edges of reads stay whole", func(t *testing.T) {
		got := s.script(t, `for i in {1..20000}; do printf '%s' 'aé😀'; done`)
		if want := strings.Repeat("aé😀", 20000); got.stdout != want {
			t.Errorf("%d bytes, want %d", len(got.stdout), len(want))
		}
	})
}
