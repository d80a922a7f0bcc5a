package sandboxtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

// patience bounds every wait of the suite. Nothing takes nearly as long.
const patience = 60 * time.Second

// sandbox is a live sandbox with the calls that tests need, which fail the test.
type sandbox struct {
	Fixture
	ref       berth.SandboxRef
	workspace string
	last      atomic.Int64
}

func newSandbox(t *testing.T, f Fixture) *sandbox {
	t.Helper()
	s := &sandbox{Fixture: f}
	state := s.provision(t, f.Spec(t))
	s.ref, s.workspace = berth.SandboxRef{ID: state.ID, Ref: state.Ref}, state.Workspace
	t.Cleanup(func() {
		if err := s.Provider.Destroy(ctx(t), s.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
	})
	return s
}

// provision waits until the sandbox is ready.
func (s *sandbox) provision(t testing.TB, spec berth.SandboxSpec) berth.SandboxState {
	t.Helper()
	state, err := s.Provider.Provision(ctx(t), spec)
	if err != nil {
		t.Fatalf("Provision: %v", err)
	}
	eventually(t, "the sandbox is ready", func() bool {
		if state.Status == berth.SandboxCreating {
			state, err = s.Provider.Describe(ctx(t), berth.SandboxRef{ID: spec.ID, Host: spec.Host, Ref: state.Ref})
		}
		if err != nil || state.Status == berth.SandboxFailed {
			t.Fatalf("provisioning: %+v, %v", state, err)
		}
		return state.Status == berth.SandboxReady
	})
	return state
}

// ctx is bounded by patience; it outlives the test's own, for cleanups.
func ctx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (s *sandbox) newID() berth.CommandID {
	return berth.CommandID(fmt.Sprintf("c%d", s.last.Add(1)))
}

// result is what became of a command.
type result struct {
	stdout, stderr, marks string
	exit                  berth.Exit
}

func (s *sandbox) start(t testing.TB, spec berth.CommandSpec) berth.CommandID {
	t.Helper()
	if spec.ID == "" {
		spec.ID = s.newID()
	}
	if err := s.Provider.StartCommand(ctx(t), s.ref, spec); err != nil {
		t.Fatalf("StartCommand(%q %q): %v", spec.Argv, spec.Script, err)
	}
	return spec.ID
}

// wait reads a command's output to the end.
func (s *sandbox) wait(t testing.TB, id berth.CommandID) result {
	t.Helper()
	return s.waitFrom(t, id, 0)
}

func (s *sandbox) waitFrom(t testing.TB, id berth.CommandID, offset int64) result {
	t.Helper()
	var r result
	for deadline := time.Now().Add(patience); ; {
		out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, 0, 5*time.Second)
		if err != nil {
			t.Fatalf("ReadOutput(%s, %d): %v", id, offset, err)
		}
		r.add(t, out)
		offset = out.Next
		if out.Ended {
			r.exit = *out.Exit
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("command %s has not ended; so far %+v", id, r)
		}
	}
}

func (r *result) add(t testing.TB, out berth.Output) {
	t.Helper()
	frames, exit, err := spool.Decode(out.Bytes)
	if err != nil {
		t.Fatalf("decoding output: %v", err)
	}
	if exit != nil && !out.Ended {
		t.Fatal("the exit frame lies before Next and the output has not ended")
	}
	for _, f := range frames {
		switch f.Stream {
		case berth.Stdout:
			r.stdout += string(f.Data)
		case berth.Stderr:
			r.stderr += string(f.Data)
		case berth.Mark:
			r.marks += string(f.Data)
		}
	}
}

func (s *sandbox) run(t testing.TB, spec berth.CommandSpec) result {
	t.Helper()
	return s.wait(t, s.start(t, spec))
}

func (s *sandbox) script(t testing.TB, script string) result {
	t.Helper()
	return s.run(t, berth.CommandSpec{Script: script})
}

// must is script for one that has to succeed.
func (s *sandbox) must(t testing.TB, script string) string {
	t.Helper()
	r := s.script(t, script)
	if !r.exit.Succeeded() {
		t.Fatalf("%s: %+v", script, r)
	}
	return r.stdout
}

// untilOutput waits until a command has printed something.
func (s *sandbox) untilOutput(t testing.TB, id berth.CommandID) {
	t.Helper()
	var r result
	for offset := int64(0); r.stdout == ""; {
		out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, 0, 5*time.Second)
		if err != nil || out.Ended {
			t.Fatalf("waiting for output of %s: %+v, %v", id, out, err)
		}
		r.add(t, out)
		offset = out.Next
	}
}

func wantCode(t testing.TB, call string, err error, want berth.Code) {
	t.Helper()
	if got := berth.CodeOf(err); got != want {
		t.Errorf("%s: %v (code %q), want %q", call, err, got, want)
	}
}
