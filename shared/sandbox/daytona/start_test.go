//go:build linux

package daytona_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

// A gateway gives a request 29 s, and Daytona may hold a start for longer.
func TestAStartReturnsSoonWhateverTheServerWaitsFor(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Restart = 50 * time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	before, release := s.Count(http.MethodPost, "/start"), s.Hold(http.MethodPost, "/start")
	for range 3 {
		began := time.Now()
		again, err := p.Start(t.Context(), ref(state))
		if err != nil || again.Status != berth.SandboxCreating || again.Ref != state.Ref || time.Since(began) > 15*time.Second {
			t.Fatalf("Start = %+v, %v after %v; want creating at once", again, err, time.Since(began))
		}
	}
	if err := p.Stop(t.Context(), ref(state)); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Stop meanwhile: %v, want conflict", err)
	}
	release()
	again := awaitReady(t, func() (berth.SandboxState, error) { return p.Describe(t.Context(), ref(state)) })
	if again.Workspace != state.Workspace || again.Run != state.Run {
		t.Errorf("started is %+v, want %+v", again, state)
	}
	if n := s.Count(http.MethodPost, "/start") - before; n != 1 {
		t.Errorf("Daytona was asked to start it %d times", n)
	}
	if got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" {
		t.Errorf("a command: %+v", got)
	}
}

// awaitReady looks until the sandbox is ready.
func awaitReady(t *testing.T, look func() (berth.SandboxState, error)) berth.SandboxState {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := look()
		if err != nil || state.Status != berth.SandboxReady && state.Status != berth.SandboxCreating || time.Now().After(deadline) {
			t.Fatalf("the sandbox is %+v, %v", state, err)
		}
		if state.Status == berth.SandboxReady {
			return state
		}
	}
}

func TestAStartThatCameToNothingIsToldToAllWhoLookAndMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Restart, c.Pace.Patience = time.Nanosecond, 200*time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	s.SetFault(func(r *http.Request) daytonatest.Fault {
		if strings.HasSuffix(r.URL.Path, "/start") {
			return daytonatest.EmptyGateway
		}
		return daytonatest.None
	})
	said, err := p.Start(t.Context(), ref(state))
	for deadline := time.Now().Add(time.Minute); err == nil && said.Status == berth.SandboxCreating && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		said, err = p.Describe(t.Context(), ref(state))
	}
	for range 2 {
		if err != nil || said.Status != berth.SandboxStopped || said.Reason == nil || !strings.Contains(said.Reason.Message, "502") {
			t.Errorf("after a start that failed: %+v, %v, reason %+v; want stopped and why", said, err, said.Reason)
		}
		said, err = p.Describe(t.Context(), ref(state))
	}
	s.SetFault(nil)
	if said, err := p.Start(t.Context(), ref(state)); err != nil {
		t.Errorf("Start again = %+v, %v", said, err)
	}
	if said := awaitReady(t, func() (berth.SandboxState, error) { return p.Describe(t.Context(), ref(state)) }); said.Reason != nil {
		t.Errorf("the reason stays when it is ready: %+v", said.Reason)
	}
}

func TestWhyAMakingWasInterruptedIsToldWithoutWhatIsForTheLog(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Provision, c.Pace.Patience = time.Nanosecond, time.Millisecond
	s.SetFault(func(*http.Request) daytonatest.Fault { return daytonatest.ResetBefore })
	p, spec := open(t, c), spec(t)
	state, err := p.Provision(t.Context(), spec)
	for deadline := time.Now().Add(time.Minute); err == nil && !strings.Contains(state.Detail, "cannot be reached") && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		state, err = p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID})
	}
	if err != nil || !strings.HasSuffix(state.Detail, " cannot be reached") {
		t.Errorf("Describe = %+v, %v; want why it is not made and no cause of that", state, err)
	}
}

// Who only looks does not take it from the run, which makes the sandbox.
func TestAMakingThatWasInterruptedIsCreatingForAllWhoLookAndToldByProvision(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Provision, c.Pace.Patience = time.Nanosecond, time.Millisecond
	s.SetFault(func(r *http.Request) daytonatest.Fault { return daytonatest.EmptyGateway })
	p, spec := open(t, c), spec(t)
	look := func() (berth.SandboxState, error) { return p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}) }
	state, err := p.Provision(t.Context(), spec)
	for deadline := time.Now().Add(time.Minute); err == nil && !strings.Contains(state.Detail, "502") && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		state, err = look()
	}
	asked := len(s.Requests())
	for range 2 {
		if err != nil || state.Status != berth.SandboxCreating || state.Run != run || !strings.Contains(state.Detail, "502") {
			t.Errorf("Describe = %+v, %v; want creating and why it is not made", state, err)
		}
		state, err = look()
	}
	if state, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeUnavailable || len(s.Requests()) != asked {
		t.Errorf("Provision = %+v, %v after %d requests; want unavailable, and nothing made", state, err, len(s.Requests())-asked)
	}
	s.SetFault(nil)
	if state, err := look(); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("after that it is %+v, %v; want gone", state, err)
	}
}

func TestAStopIsNotHeldUpByAToolboxThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Stop = 20 * time.Second
	p := open(t, c)
	state := ready(t, p, spec(t))
	s.SetFault(func(r *http.Request) daytonatest.Fault {
		if strings.HasPrefix(r.URL.Path, "/toolbox/") {
			return daytonatest.EmptyGateway
		}
		return daytonatest.None
	})
	s.CutStreams()
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if row := one(t, s); row.State != "stopped" {
		t.Errorf("sandbox %+v", row)
	}
}

func TestAStopThatTakesLongIsToldSoonAndMayBeAskedForAgain(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Stop = time.Second
	p := open(t, c)
	state := ready(t, p, spec(t))
	s.SetFault(func(r *http.Request) daytonatest.Fault {
		if strings.HasSuffix(r.URL.Path, "/stop") {
			return daytonatest.InTransition
		}
		return daytonatest.None
	})
	if err := p.Stop(t.Context(), ref(state)); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "has not stopped") {
		t.Errorf("Stop: %v, want unavailable", err)
	}
	s.SetFault(nil)
	for deadline := time.Now().Add(time.Minute); ; {
		err := p.Stop(t.Context(), ref(state))
		if err == nil {
			break
		}
		if berth.CodeOf(err) != berth.CodeUnavailable || time.Now().After(deadline) {
			t.Fatalf("Stop again: %v", err)
		}
	}
	if row := one(t, s); row.State != "stopped" {
		t.Errorf("sandbox %+v", row)
	}
}
