//go:build linux

package remote_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

var _ runner.Armer = (*remote.Provider)(nil)

// patience is as long as something may take that must happen.
const patience = 30 * time.Second

// wantNudge waits for one.
func (a *agent) wantNudge(t *testing.T, want berth.Nudge) {
	t.Helper()
	select {
	case got := <-a.nudges:
		if got != want {
			t.Fatalf("a nudge for %+v, want one for %+v", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("no nudge for %+v came", want)
	}
}

func (a *agent) wantNone(t *testing.T) {
	t.Helper()
	select {
	case got := <-a.nudges:
		t.Fatalf("a nudge for %+v that nobody has armed for", got)
	case <-time.After(300 * time.Millisecond):
	}
}

// readyOn makes a sandbox that goes with the test.
func readyOn(t *testing.T, p *remote.Provider) berth.SandboxRef {
	t.Helper()
	s := spec(t)
	state, err := p.Provision(t.Context(), s)
	for deadline := time.Now().Add(patience); err == nil && state.Status == berth.SandboxCreating && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		state, err = p.Describe(t.Context(), berth.SandboxRef{ID: s.ID})
	}
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	return berth.SandboxRef{ID: s.ID, Ref: state.Ref}
}

func TestARealCommandNudgesWhenItSpeaksAndWhenItEnds(t *testing.T) {
	t.Parallel()
	a := startLocal(t)
	p := connect(t, a.config())
	ref := readyOn(t, p)
	nudge := berth.Nudge{Sandbox: ref.ID, Command: "c"}
	say := func(offset int64, text string, eof bool) {
		t.Helper()
		if _, err := p.WriteInput(t.Context(), ref, "c", offset, []byte(text), eof); err != nil {
			t.Fatal(err)
		}
	}
	next := func(offset int64) int64 {
		t.Helper()
		out, err := p.ReadOutput(t.Context(), ref, "c", offset, 0, patience)
		if err != nil {
			t.Fatal(err)
		}
		return out.Next
	}
	if err := p.Arm(t.Context(), ref, "c", 0); berth.CodeOf(err) != berth.CodeNotFound {
		t.Fatalf("Arm before the start: %v", err)
	}
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "cat", Stdin: true}); err != nil {
		t.Fatal(err)
	}
	// The start frame is output for readers too.
	offset := next(0)
	arm := func() {
		t.Helper()
		if err := p.Arm(t.Context(), ref, "c", offset); err != nil {
			t.Fatal(err)
		}
	}
	arm()
	arm() // is one arming
	a.wantNone(t)
	say(0, "one\n", false)
	a.wantNudge(t, nudge)
	a.wantNone(t)
	offset = next(offset)
	say(4, "two\n", false) // between the last read and the arming
	next(offset)           // it is there
	arm()
	a.wantNudge(t, nudge)
	offset = next(offset)
	arm()
	say(8, "", true)
	a.wantNudge(t, nudge)
	for out := (berth.Output{}); !out.Ended; {
		var err error
		if out, err = p.ReadOutput(t.Context(), ref, "c", offset, 0, patience); err != nil {
			t.Fatal(err)
		}
		offset = out.Next
	}
	arm() // of one that has ended
	a.wantNudge(t, nudge)
	for _, bad := range []int64{-1, 1, offset + 1, 1 << 62} {
		if err := p.Arm(t.Context(), ref, "c", bad); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Arm at %d, where no frame begins: %v", bad, err)
		}
	}
}

func TestTheDeathOfTheSandboxIsNudgedForAndARestartOfTheAgentForgetsArmings(t *testing.T) {
	t.Parallel()
	a := startLocal(t)
	p := connect(t, a.config())
	ref := readyOn(t, p)
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	out, err := p.ReadOutput(t.Context(), ref, "c", 0, 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	arm := func() {
		t.Helper()
		if err := p.Arm(t.Context(), ref, "c", out.Next); err != nil {
			t.Fatal(err)
		}
	}
	arm()
	a.stop()
	a.start(t)
	a.wantNone(t)
	arm()
	if err := p.Destroy(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	a.wantNudge(t, berth.Nudge{Sandbox: ref.ID, Command: "c"})
}
