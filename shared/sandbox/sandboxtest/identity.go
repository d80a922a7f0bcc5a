package sandboxtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func testIdentity(t *testing.T, s *sandbox) {
	t.Run("a command started twice runs once", func(t *testing.T) {
		spec := berth.CommandSpec{ID: "twice", Script: "echo x >> twice; sleep 0.2"}
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if err := s.Provider.StartCommand(ctx(t), s.ref, spec); err != nil {
					t.Errorf("StartCommand: %v", err)
				}
			})
		}
		calls.Wait()
		s.wait(t, "twice")
		s.start(t, spec)
		if got := s.must(t, "cat twice"); got != "x\n" {
			t.Errorf("it ran %d times", strings.Count(got, "x"))
		}
	})
	t.Run("an id used with another command is a conflict", func(t *testing.T) {
		s.run(t, berth.CommandSpec{ID: "taken", Argv: []string{"echo", "a", "b"}})
		for _, other := range []berth.CommandSpec{
			{ID: "taken", Argv: []string{"echo", "a b"}}, {ID: "taken", Script: "echo a b"}, {ID: "taken", Argv: []string{"echo", "a", "b"}, Dir: "/"},
		} {
			wantCode(t, "StartCommand", s.Provider.StartCommand(ctx(t), s.ref, other), berth.CodeConflict)
		}
	})
	t.Run("other secrets in the environment make no other command", func(t *testing.T) {
		s.run(t, berth.CommandSpec{ID: "rotated", Script: "true", Env: map[string]string{"A": "1"}})
		s.start(t, berth.CommandSpec{ID: "rotated", Script: "true", Env: map[string]string{"A": "2"}})
	})
	for _, tombstone := range []struct {
		name string
		bury func(id berth.CommandID) error
	}{
		{"cancel", func(id berth.CommandID) error { return s.Provider.Cancel(ctx(t), s.ref, id) }},
		{"KILL", func(id berth.CommandID) error { return s.Provider.Signal(ctx(t), s.ref, id, "KILL") }},
		{"INT", func(id berth.CommandID) error { return s.Provider.Signal(ctx(t), s.ref, id, "SIGINT") }},
	} {
		t.Run(tombstone.name+" before the start keeps a command from starting", func(t *testing.T) {
			id := s.newID()
			for range 2 {
				if err := tombstone.bury(id); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: id, Script: "touch never"}); err != nil {
				t.Errorf("StartCommand: %v", err)
			}
			if got := s.wait(t, id); got.exit.Reason != berth.ExitCancelled || got.exit.Code != -1 {
				t.Errorf("%+v", got)
			}
			if state, err := s.Provider.DescribeCommand(ctx(t), s.ref, id); err != nil || state.Status != berth.CommandEnded {
				t.Errorf("DescribeCommand = %+v, %v", state, err)
			}
			s.must(t, "[ ! -e never ]")
		})
	}
	t.Run("what does not exist is not found", func(t *testing.T) {
		_, err := s.Provider.ReadOutput(ctx(t), s.ref, "nobody", 0, 0, 0)
		wantCode(t, "ReadOutput", err, berth.CodeNotFound)
		_, err = s.Provider.DescribeCommand(ctx(t), s.ref, "nobody")
		wantCode(t, "DescribeCommand", err, berth.CodeNotFound)
		_, err = s.Provider.WriteInput(ctx(t), s.ref, "nobody", 0, []byte("x"), true)
		wantCode(t, "WriteInput", err, berth.CodeNotFound)
		wantCode(t, "Signal HUP", s.Provider.Signal(ctx(t), s.ref, "nobody", "HUP"), berth.CodeNotFound)
		_, err = s.Provider.ReadOutput(ctx(t), berth.SandboxRef{ID: "01arz3ndektsv4rrffq69g5fav"}, "c", 0, 0, 0)
		wantCode(t, "ReadOutput of no sandbox", err, berth.CodeNotFound)
	})
	t.Run("ids that are no slugs are refused", func(t *testing.T) {
		for _, id := range []berth.CommandID{"", "..", "../x", "a/b", "A", berth.CommandID(strings.Repeat("a", 64))} {
			wantCode(t, "StartCommand "+string(id), s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: id, Script: "true"}), berth.CodeInvalid)
			wantCode(t, "Cancel "+string(id), s.Provider.Cancel(ctx(t), s.ref, id), berth.CodeInvalid)
			_, err := s.Provider.ReadOutput(ctx(t), s.ref, id, 0, 0, 0)
			wantCode(t, "ReadOutput "+string(id), err, berth.CodeNotFound)
		}
	})
	t.Run("the state says when it started and how it ended", func(t *testing.T) {
		id := s.start(t, berth.CommandSpec{Script: "sleep 0.3; exit 3"})
		state, err := s.Provider.DescribeCommand(ctx(t), s.ref, id)
		if err != nil || state.Status != berth.CommandRunning || time.Since(state.StartedAt).Abs() > time.Hour {
			t.Errorf("while it runs: %+v, %v", state, err)
		}
		s.wait(t, id)
		state, err = s.Provider.DescribeCommand(ctx(t), s.ref, id)
		if err != nil || state.Status != berth.CommandEnded || state.Exit == nil || *state.Exit != exited(3) {
			t.Errorf("after its end: %+v, %v", state, err)
		}
	})
}
