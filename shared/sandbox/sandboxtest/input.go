package sandboxtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func testInput(t *testing.T, s *sandbox) {
	write := func(t *testing.T, id berth.CommandID, offset int64, data string, eof bool) int64 {
		t.Helper()
		next, err := s.Provider.WriteInput(ctx(t), s.ref, id, offset, []byte(data), eof)
		if err != nil {
			t.Fatalf("WriteInput(%d, %q): %v", offset, data, err)
		}
		return next
	}
	t.Run("input arrives whole", func(t *testing.T) {
		t.Parallel()
		data := make([]byte, 5<<20)
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		id := s.start(t, berth.CommandSpec{Argv: []string{"sha256sum"}, Stdin: true})
		for offset := int64(0); offset < int64(len(data)); {
			end := min(offset+700_001, int64(len(data)))
			offset = write(t, id, offset, string(data[offset:end]), end == int64(len(data)))
		}
		sum := sha256.Sum256(data)
		if got := s.wait(t, id); got.stdout != hex.EncodeToString(sum[:])+"  -\n" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a piece that is sent twice is taken once", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Argv: []string{"cat"}, Stdin: true})
		write(t, id, 0, "one ", false)
		write(t, id, 0, "one ", false)
		if next := write(t, id, 2, "e two", false); next != 7 {
			t.Errorf("offset %d, want 7", next)
		}
		_, err := s.Provider.WriteInput(ctx(t), s.ref, id, 8, []byte("gap"), false)
		wantCode(t, "WriteInput with a gap", err, berth.CodeConflict)
		write(t, id, 7, "", true)
		write(t, id, 7, "", true)
		if got := s.wait(t, id); got.stdout != "one two" || got.exit != exited(0) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("nothing comes after the end", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Script: "cat; sleep 1", Stdin: true})
		write(t, id, 0, "all", true)
		_, err := s.Provider.WriteInput(ctx(t), s.ref, id, 3, []byte("more"), false)
		wantCode(t, "WriteInput after the end", err, berth.CodeConflict)
		s.wait(t, id)
	})
	t.Run("a command that does not read holds input back", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Script: "sleep 600", Stdin: true})
		short, cancel := context.WithTimeout(ctx(t), 1500*time.Millisecond)
		defer cancel()
		next, err := s.Provider.WriteInput(short, s.ref, id, 0, make([]byte, 4<<20), true)
		wantCode(t, "WriteInput", err, berth.CodeTimedOut)
		if next > 1<<20 {
			t.Errorf("%d bytes are held in memory", next)
		}
		if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
			t.Fatal(err)
		}
		s.wait(t, id)
	})
	t.Run("what a command leaves unread is no error", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Argv: []string{"head", "-c", "3"}, Stdin: true})
		next := write(t, id, 0, "abc", false)
		if got := s.wait(t, id); got.stdout != "abc" || got.exit != exited(0) {
			t.Errorf("%+v", got)
		}
		if next = write(t, id, next, "more", true); next != 7 {
			t.Errorf("offset %d, want 7", next)
		}
	})
	t.Run("a command without input takes none", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Script: "sleep 1"})
		_, err := s.Provider.WriteInput(ctx(t), s.ref, id, 0, []byte("x"), false)
		wantCode(t, "WriteInput", err, berth.CodeConflict)
		s.wait(t, id)
	})
}
