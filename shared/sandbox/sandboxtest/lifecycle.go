package sandboxtest

import (
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func testLifecycle(t *testing.T, s *sandbox) {
	t.Run("provisioning again is the same sandbox", func(t *testing.T) {
		spec := s.Spec(t)
		var states [4]berth.SandboxState
		var calls sync.WaitGroup
		for i := range states {
			calls.Go(func() { states[i] = s.provision(t, spec) })
		}
		calls.Wait()
		for _, state := range states[1:] {
			if state != states[0] {
				t.Errorf("%+v and %+v", states[0], state)
			}
		}
		ref := berth.SandboxRef{ID: spec.ID, Ref: states[0].Ref}
		if err := s.Provider.Destroy(ctx(t), ref); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("stop ends commands and keeps files and outputs", func(t *testing.T) {
		marker := s.marker()
		s.write(t, "kept", "content")
		done := s.run(t, berth.CommandSpec{ID: "done", Script: "echo out"})
		running := s.start(t, berth.CommandSpec{Script: "( setsid sleep " + marker + " & ); echo up; sleep " + marker})
		s.script(t, "sleep "+marker+" & true")
		s.untilOutput(t, running)
		for range 2 {
			if err := s.Provider.Stop(ctx(t), s.ref); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Processes(t, s.ref, marker); n != 0 {
			t.Errorf("%d processes are left", n)
		}
		if state, err := s.Provider.Describe(ctx(t), s.ref); err != nil || state.Status != berth.SandboxStopped {
			t.Errorf("Describe = %+v, %v", state, err)
		}
		if s.Asleep {
			_, err := s.Provider.DescribeCommand(ctx(t), s.ref, "done")
			wantCode(t, "DescribeCommand", err, berth.CodeConflict)
		} else {
			s.afterStop(t, done, running)
		}
		wantCode(t, "StartCommand", s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: "late", Script: "true"}), berth.CodeConflict)
		_, err := s.Provider.ReadFile(ctx(t), s.ref, "kept", 0, 0, "")
		wantCode(t, "ReadFile", err, berth.CodeConflict)
		if !s.Asleep {
			if err := s.Provider.Cancel(ctx(t), s.ref, "buried"); err != nil {
				t.Errorf("Cancel before the start: %v", err)
			}
		}
		s.Provider = s.Reopen(t)
		for range 2 {
			state, err := s.Provider.Start(ctx(t), s.ref)
			if err != nil || state.Status != berth.SandboxReady {
				t.Fatalf("Start = %+v, %v", state, err)
			}
		}
		if got := s.read(t, "kept"); got != "content" {
			t.Errorf("the file holds %q", got)
		}
		if s.Asleep {
			s.afterStop(t, done, running)
			if err := s.Provider.Cancel(ctx(t), s.ref, "buried"); err != nil {
				t.Errorf("Cancel before the start: %v", err)
			}
		}
		s.start(t, berth.CommandSpec{ID: "buried", Script: "true"})
		if got := s.wait(t, "buried"); got.exit.Reason != berth.ExitCancelled {
			t.Errorf("the tombstone: %+v", got)
		}
		if got := s.wait(t, running); got.exit.Reason != berth.ExitCancelled {
			t.Errorf("the stopped command: %+v", got)
		}
		if got := s.script(t, "echo again"); got.stdout != "again\n" {
			t.Errorf("a new command: %+v", got)
		}
	})
	t.Run("nothing is left after destroy", func(t *testing.T) {
		marker := s.marker()
		other := newSandbox(t, Fixture{Provider: s.Provider, Spec: s.Spec})
		other.script(t, "( setsid sleep "+marker+" & ); (trap '' TERM HUP; sleep "+marker+") & true")
		other.untilOutput(t, other.start(t, berth.CommandSpec{Script: "echo up; sleep " + marker}))
		for range 2 {
			if err := s.Provider.Destroy(ctx(t), other.ref); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Processes(t, other.ref, marker); n != 0 {
			t.Errorf("%d processes are left", n)
		}
		if left := s.Leftovers(t, other.ref.ID); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if state, err := s.Provider.Describe(ctx(t), other.ref); err != nil || state.Status != berth.SandboxGone {
			t.Errorf("Describe = %+v, %v", state, err)
		}
		list, err := s.Provider.List(ctx(t))
		if err != nil || len(list) != 1 || list[0].ID != s.ref.ID {
			t.Errorf("List = %+v, %v", list, err)
		}
		_, err = s.Provider.Start(ctx(t), other.ref)
		wantCode(t, "Start", err, berth.CodeNotFound)
		wantCode(t, "Stop", s.Provider.Stop(ctx(t), other.ref), berth.CodeNotFound)
		_, err = s.Provider.DescribeCommand(ctx(t), other.ref, "c1")
		wantCode(t, "DescribeCommand", err, berth.CodeNotFound)
	})
}

// afterStop reads what commands left that a stop found finished and running.
func (s *sandbox) afterStop(t *testing.T, done result, running berth.CommandID) {
	t.Helper()
	if got := s.wait(t, "done"); got != done {
		t.Errorf("a finished command: %+v", got)
	}
	if got := s.wait(t, running); got.stdout != "up\n" || got.exit.Reason != berth.ExitCancelled {
		t.Errorf("a running command: %+v", got)
	}
}
