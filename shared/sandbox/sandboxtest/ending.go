package sandboxtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// marker makes a number of seconds that no other process sleeps.
func (s *sandbox) marker() string {
	return fmt.Sprintf("6%05d.%d%d", os.Getpid()%100000, time.Now().UnixNano()%1e6, s.last.Add(1))
}

// family starts processes that try to get away: in the background, in a session
// of their own, as orphans, and deaf to TERM.
func family(marker string) string {
	return strings.ReplaceAll(`sleep @ & setsid sleep @ & ( setsid sleep @ & ) ; ( ( sleep @ & ) & )
bash -c 'trap "" TERM; sleep @ & wait' &
until [ "$(grep -l @ /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" -ge 6 ]; do sleep 0.02; done; echo up; sleep @`, "@", marker)
}

func testEnding(t *testing.T, s *sandbox) {
	gone := func(t *testing.T, marker string) {
		t.Helper()
		if n := s.Processes(t, s.ref, marker); n != 0 {
			t.Errorf("%d processes are left", n)
		}
	}
	t.Run("a timeout ends the whole tree and keeps the output", func(t *testing.T) {
		t.Parallel()
		marker := s.marker()
		began := time.Now()
		got := s.run(t, berth.CommandSpec{Script: family(marker), Timeout: 10 * time.Second})
		if got.exit.Reason != berth.ExitTimedOut || got.stdout != "up\n" {
			t.Errorf("%+v", got)
		}
		if d := time.Since(began); d < 10*time.Second || d > time.Minute {
			t.Errorf("it took %v", d)
		}
		gone(t, marker)
	})
	t.Run("cancel ends the whole tree", func(t *testing.T) {
		t.Parallel()
		marker := s.marker()
		id := s.start(t, berth.CommandSpec{Script: family(marker)})
		s.untilOutput(t, id)
		for range 2 {
			if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.wait(t, id); got.exit.Reason != berth.ExitCancelled || got.stdout != "up\n" {
			t.Errorf("%+v", got)
		}
		gone(t, marker)
		if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
			t.Errorf("Cancel of what has ended: %v", err)
		}
	})
	t.Run("a timeout leaves other commands alone", func(t *testing.T) {
		t.Parallel()
		other := s.start(t, berth.CommandSpec{Script: "sleep 2; echo alive"})
		s.run(t, berth.CommandSpec{Script: "sleep 600 & sleep 600", Timeout: 300 * time.Millisecond})
		if got := s.wait(t, other); got.stdout != "alive\n" || got.exit != exited(0) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a command that ends in time has no timeout", func(t *testing.T) {
		t.Parallel()
		if got := s.run(t, berth.CommandSpec{Script: "exit 4", Timeout: time.Hour}); got.exit != exited(4) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a signal reaches the process group", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Script: `trap 'echo caught; exit 5' USR1; echo up; while :; do sleep 0.05; done`})
		s.untilOutput(t, id)
		if err := s.Provider.Signal(ctx(t), s.ref, id, "USR1"); err != nil {
			t.Fatal(err)
		}
		if got := s.wait(t, id); got.stdout != "up\ncaught\n" || got.exit != exited(5) {
			t.Errorf("%+v", got)
		}
		wantCode(t, "Signal of what has ended", s.Provider.Signal(ctx(t), s.ref, id, "USR1"), berth.CodeConflict)
	})
	t.Run("a signal that kills is told as one", func(t *testing.T) {
		t.Parallel()
		id := s.start(t, berth.CommandSpec{Argv: []string{"bash", "-c", "echo up; exec sleep 600"}})
		s.untilOutput(t, id)
		wantCode(t, "Signal FOO", s.Provider.Signal(ctx(t), s.ref, id, "FOO"), berth.CodeInvalid)
		if err := s.Provider.Signal(ctx(t), s.ref, id, "SIGHUP"); err != nil {
			t.Fatal(err)
		}
		want := berth.Exit{Code: 129, Signal: "HUP", Reason: berth.ExitSignalled}
		if got := s.wait(t, id); got.exit != want {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a background process does not hold the command", func(t *testing.T) {
		t.Parallel()
		marker := s.marker()
		began := time.Now()
		got := s.script(t, "sleep "+marker+" & echo x")
		if got.stdout != "x\n" || got.exit != exited(0) || time.Since(began) > 20*time.Second {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
		if n := s.Processes(t, s.ref, "sleep\x00"+marker); n != 1 {
			t.Errorf("%d background processes, want 1", n)
		}
	})
	t.Run("a background process does not die of a broken pipe", func(t *testing.T) {
		t.Parallel()
		got := s.script(t, `(trap '' HUP; sleep 1; for i in 1 2 3; do echo late || exit; done; head -c 300000 /dev/zero; touch survived) & echo x`)
		if got.stdout != "x\n" {
			t.Errorf("%+v", got)
		}
		s.must(t, "for i in {1..400}; do [ -e survived ] && exit; sleep 0.05; done; exit 1")
	})
	t.Run("output that is still in the pipe at the end is kept", func(t *testing.T) {
		t.Parallel()
		if got := s.script(t, "(head -c 60000 /dev/zero; exec sleep 30) & sleep 0.1; exit 0"); len(got.stdout) != 60000 {
			t.Errorf("%d bytes", len(got.stdout))
		}
	})
}
