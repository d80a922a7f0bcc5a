package sandboxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// testOwner is about the server that dies and the next one.
func testOwner(t *testing.T, s *sandbox) {
	t.Run("a command goes on without its server", func(t *testing.T) {
		spec := berth.CommandSpec{ID: "counter", Script: "for i in {1..300}; do echo $i; sleep 0.005; done; exit 9"}
		s.start(t, spec)
		s.untilOutput(t, "counter")
		var r result
		offset := int64(0)
		for range 5 { // each server reads a piece and dies
			out, err := s.Provider.ReadOutput(ctx(t), s.ref, "counter", offset, 100, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r.add(t, out)
			offset = out.Next
			s.Provider = s.Reopen(t)
			s.start(t, spec) // by a server that does not know whether it had
		}
		rest := s.waitFrom(t, "counter", offset)
		var want strings.Builder
		for i := range 300 {
			fmt.Fprintln(&want, i+1)
		}
		if got := r.stdout + rest.stdout; got != want.String() || rest.exit != exited(9) {
			t.Errorf("lines are missing or doubled: %q, %+v", got, rest.exit)
		}
	})
	t.Run("a command that ended meanwhile is answered", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "echo x; exit 3"})
		s.Provider = s.Reopen(t)
		if got := s.wait(t, id); got.stdout != "x\n" || got.exit != exited(3) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what was read stays read", func(t *testing.T) {
		s.write(t, "file", "one")
		if _, err := s.Provider.ReadFile(ctx(t), s.ref, "file", 0, 0, "me"); err != nil {
			t.Fatal(err)
		}
		s.Provider = s.Reopen(t)
		if _, err := s.Provider.WriteFile(ctx(t), s.ref, "file", strings.NewReader("x"), 1, 0, "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("input, signals and timeouts go on", func(t *testing.T) {
		cat := s.start(t, berth.CommandSpec{Argv: []string{"cat"}, Stdin: true})
		sleep := s.start(t, berth.CommandSpec{Script: "sleep 600", Timeout: time.Second})
		hup := s.start(t, berth.CommandSpec{Argv: []string{"sleep", "600"}})
		next, err := s.Provider.WriteInput(ctx(t), s.ref, cat, 0, []byte("one "), false)
		if err != nil {
			t.Fatal(err)
		}
		s.Provider = s.Reopen(t)
		if _, err := s.Provider.WriteInput(ctx(t), s.ref, cat, next, []byte("two"), true); err != nil {
			t.Fatal(err)
		}
		if err := s.Provider.Signal(ctx(t), s.ref, hup, "HUP"); err != nil {
			t.Fatal(err)
		}
		if got := s.wait(t, cat); got.stdout != "one two" {
			t.Errorf("cat: %+v", got)
		}
		if got := s.wait(t, sleep); got.exit.Reason != berth.ExitTimedOut {
			t.Errorf("sleep: %+v", got)
		}
		if got := s.wait(t, hup); got.exit.Signal != "HUP" {
			t.Errorf("sleep: %+v", got)
		}
	})
	t.Run("a tombstone stands", func(t *testing.T) {
		if err := s.Provider.Cancel(ctx(t), s.ref, "buried"); err != nil {
			t.Fatal(err)
		}
		s.Provider = s.Reopen(t)
		s.start(t, berth.CommandSpec{ID: "buried", Script: "touch never"})
		if got := s.wait(t, "buried"); got.exit.Reason != berth.ExitCancelled {
			t.Errorf("%+v", got)
		}
		s.must(t, "[ ! -e never ]")
	})
	t.Run("the sandbox is listed and described as before", func(t *testing.T) {
		before, err := s.Provider.Describe(ctx(t), s.ref)
		if err != nil {
			t.Fatal(err)
		}
		s.Provider = s.Reopen(t)
		list, err := s.Provider.List(ctx(t))
		if err != nil || len(list) != 1 || list[0] != before {
			t.Errorf("List = %+v, %v; want %+v", list, err, before)
		}
	})
	if s.KillGuest == nil {
		return
	}
	t.Run("a guest that is killed loses its commands and nothing else", func(t *testing.T) {
		marker := s.marker()
		done := s.run(t, berth.CommandSpec{ID: "done", Script: "echo kept"})
		id := s.start(t, berth.CommandSpec{Script: "( setsid sleep " + marker + " & ); echo partial; sleep " + marker})
		s.untilOutput(t, id)
		reader := make(chan result, 1)
		go func() { reader <- s.wait(t, id) }()
		s.KillGuest(t, s.ref)
		select {
		case got := <-reader:
			if got.exit.Reason != berth.ExitLost || got.stdout != "partial\n" {
				t.Errorf("%+v", got)
			}
		case <-time.After(patience):
			t.Fatal("the reader was not told")
		}
		state, err := s.Provider.Describe(ctx(t), s.ref)
		if err != nil || state.Status != berth.SandboxFailed && state.Status != berth.SandboxGone {
			t.Errorf("Describe = %+v, %v", state, err)
		}
		if command, err := s.Provider.DescribeCommand(ctx(t), s.ref, id); err != nil || command.Exit == nil || command.Exit.Reason != berth.ExitLost {
			t.Errorf("DescribeCommand = %+v, %v", command, err)
		}
		if again := s.wait(t, "done"); again != done {
			t.Errorf("a finished command: %+v", again)
		}
		eventually(t, "the lost command's processes are gone", func() bool { return s.Processes(t, s.ref, marker) == 0 })
		err = s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: s.newID(), Script: "true"})
		wantCode(t, "StartCommand", err, berth.CodeConflict)
		s.Provider = s.Reopen(t)
		if got := s.wait(t, id); got.exit.Reason != berth.ExitLost {
			t.Errorf("after another server has come: %+v", got)
		}
		if state, err := s.Provider.Start(ctx(t), s.ref); err != nil || state.Status != berth.SandboxReady {
			t.Fatalf("Start = %+v, %v", state, err)
		}
		if got := s.wait(t, id); got.exit.Reason != berth.ExitLost {
			t.Errorf("after a new start: %+v", got)
		}
		s.start(t, berth.CommandSpec{ID: id, Script: "( setsid sleep " + marker + " & ); echo partial; sleep " + marker})
		if n := s.Processes(t, s.ref, marker); n != 0 {
			t.Errorf("a lost command was started again")
		}
	})
}
