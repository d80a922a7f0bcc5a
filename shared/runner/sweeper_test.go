package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// executions is an orchestrator that a test plays.
type executions struct {
	mu      sync.Mutex // guards all below
	known   map[berth.ExecutionID]berth.Execution
	started []berth.ExecutionID
}

func (e *executions) Start(_ context.Context, id berth.ExecutionID, _ []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, id)
	if e.known == nil {
		e.known = map[berth.ExecutionID]berth.Execution{}
	}
	e.known[id] = berth.Execution{ID: id, Status: berth.ExecutionRunning}
	return nil
}

func (e *executions) Stop(context.Context, berth.ExecutionID, string) error { return nil }

func (e *executions) Describe(_ context.Context, id berth.ExecutionID) (berth.Execution, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.known[id]; ok {
		return x, nil
	}
	return berth.Execution{ID: id, Status: berth.ExecutionMissing}, nil
}

func (e *executions) Answer(context.Context, string, []byte) error { return nil }

// becomes lets every known execution end.
func (e *executions) becomes(x berth.Execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.known {
		x.ID = id
		e.known[id] = x
	}
}

type sweeps struct {
	*bench
	clock *runnertest.ManualClock
	fake  *executions
}

func newSweeps(t *testing.T) sweeps {
	clock := runnertest.NewManualClock()
	s := sweeps{newBench(t, clock), clock, &executions{}}
	s.runner.Orchestrator = s.fake
	return s
}

// live records a run and has its sandbox made, as a running one has.
func (s sweeps) live() records.Head {
	s.t.Helper()
	id := s.record(definition("true"))
	_, err := s.records.ChangeRun(s.t.Context(), id, func(c *records.Change) error {
		c.SetStatus(berth.RunProvisioning)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	head, err := s.records.ChangeRun(s.t.Context(), id, func(c *records.Change) error {
		sb, err := c.Sandbox(s.t.Context())
		c.SetSandboxStatus(sb, berth.SandboxReady, nil)
		c.SetStatus(berth.RunRunning)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.provider.Appear(head.Sandbox, id)
	return head
}

func (s sweeps) head(id berth.RunID) records.Head {
	s.t.Helper()
	head, err := s.records.FindHead(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return head
}

func (s sweeps) sweep() {
	s.t.Helper()
	if _, err := s.runner.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func TestAMissingExecutionIsStartedAgainAfterTwoMinutesThreeTimes(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	head := s.live()
	want := []berth.ExecutionID{}
	for _, seq := range []string{"2", "3", "4"} {
		s.sweep()
		s.clock.Advance(suspected - time.Second)
		s.sweep()
		if diff := cmp.Diff(want, append([]berth.ExecutionID{}, s.fake.started...)); diff != "" {
			t.Fatalf("started too early (-want +got):\n%s", diff)
		}
		s.clock.Advance(2 * time.Second)
		s.sweep()
		want = append(want, berth.ExecutionID(string(head.ID)+"-"+seq))
		if diff := cmp.Diff(want, s.fake.started); diff != "" {
			t.Fatalf("started (-want +got):\n%s", diff)
		}
		s.fake.known = nil // it is gone again
	}
	s.sweep()
	s.clock.Advance(suspected)
	s.sweep()
	end := s.head(head.ID)
	if end.Status != berth.RunFailed || end.Reason.Code != berth.ReasonExecutionFailed || len(s.fake.started) != 3 {
		t.Errorf("the run is %s because of %+v after %d starts", end.Status, end.Reason, len(s.fake.started))
	}
	if got := s.provider.Status(head.Sandbox); got != berth.SandboxGone {
		t.Errorf("the sandbox is %s", got)
	}
}

const suspected = 2 * time.Minute

func TestAnExecutionThatComesBackIsNotSuspectedAnyMore(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	head := s.live()
	s.sweep()
	if s.head(head.ID).SuspectSince == nil {
		t.Fatal("a missing execution is not suspected")
	}
	s.clock.Advance(suspected - time.Second)
	if err := s.fake.Start(t.Context(), berth.ExecutionID(string(head.ID)+"-1"), nil); err != nil {
		t.Fatal(err)
	}
	s.sweep()
	if s.head(head.ID).SuspectSince != nil {
		t.Error("a running execution is suspected")
	}
	s.clock.Advance(time.Hour)
	s.sweep()
	if len(s.fake.started) != 1 {
		t.Errorf("started %v", s.fake.started)
	}
}

func TestAFailedExecutionEndsItsRunWithItsErrorWhenAllRestartsAreUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vanish bool
		code   string
		says   string
	}{
		"and the sandbox is there": {false, berth.ReasonExecutionFailed, "Berth.Internal: a bug"},
		"and the sandbox is gone":  {true, berth.ReasonLost, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSweeps(t)
			head := s.live()
			if c.vanish {
				s.provider.Vanish(head.Sandbox)
			}
			if err := s.fake.Start(t.Context(), berth.ExecutionID(string(head.ID)+"-1"), nil); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				s.fake.becomes(berth.Execution{Status: berth.ExecutionFailed, Error: "Berth.Internal", Cause: "a bug", EndedAt: s.clock.Now()})
				s.sweep()
				s.clock.Advance(suspected)
				s.sweep()
			}
			end := s.head(head.ID)
			if end.Status != berth.RunFailed || end.Reason.Code != c.code || !strings.Contains(end.Reason.Message, c.says) {
				t.Errorf("the run is %s because of %+v", end.Status, end.Reason)
			}
			if len(s.fake.started) != 4 {
				t.Errorf("started %v", s.fake.started)
			}
		})
	}
}

func TestAnExecutionThatSomebodyStoppedIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	head := s.live()
	if err := s.fake.Start(t.Context(), berth.ExecutionID(string(head.ID)+"-1"), nil); err != nil {
		t.Fatal(err)
	}
	s.fake.becomes(berth.Execution{Status: berth.ExecutionAborted, EndedAt: s.clock.Now()})
	s.sweep()
	end := s.head(head.ID)
	if end.Status != berth.RunCancelled || end.Reason.Code != berth.ReasonExecutionStopped || len(s.fake.started) != 1 {
		t.Errorf("the run is %s because of %+v, %d executions", end.Status, end.Reason, len(s.fake.started))
	}
	if got := s.provider.Status(head.Sandbox); got != berth.SandboxGone {
		t.Errorf("the sandbox is %s", got)
	}
}

func TestSandboxesWithoutALiveRunAreDestroyedUnlessTheyAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(s sweeps) berth.SandboxID
		keep bool
	}{
		"one that nobody knows": {set: func(s sweeps) berth.SandboxID {
			id := berth.SandboxID(s.ids.NewID())
			s.provider.Appear(id, berth.RunID(s.ids.NewID()))
			return id
		}},
		"one of a live run": {keep: true, set: func(s sweeps) berth.SandboxID {
			head := s.live()
			return head.Sandbox
		}},
		"one of a run that ended without it": {set: func(s sweeps) berth.SandboxID { return s.ended(func(*berth.Sandbox) {}) }},
		"a preserved one":                    {keep: true, set: func(s sweeps) berth.SandboxID { return s.ended(func(sb *berth.Sandbox) { sb.Preserved = true }) }},
		"one that is to be kept for a while": {keep: true, set: func(s sweeps) berth.SandboxID {
			return s.ended(func(sb *berth.Sandbox) { sb.KeepUntil = s.in(time.Second) })
		}},
		"one that was to be kept until now": {set: func(s sweeps) berth.SandboxID { return s.ended(func(sb *berth.Sandbox) { sb.KeepUntil = s.in(0) }) }},
		"one that is recorded as destroyed": {set: func(s sweeps) berth.SandboxID {
			return s.ended(func(sb *berth.Sandbox) { sb.Status, sb.Preserved = berth.SandboxDestroyed, true })
		}},
		"one of the pool, which has no run yet": {keep: true, set: func(s sweeps) berth.SandboxID {
			id := berth.SandboxID(s.ids.NewID())
			if _, err := s.records.CreateSandbox(s.t.Context(), berth.Sandbox{ID: id, Status: berth.SandboxReady}); err != nil {
				s.t.Fatal(err)
			}
			s.provider.Appear(id, "")
			return id
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSweeps(t)
			id := c.set(s)
			s.sweep()
			if got := s.provider.Status(id); (got == berth.SandboxReady) != c.keep {
				t.Errorf("the sandbox is %s", got)
			}
			sb, err := s.records.FindSandbox(t.Context(), id)
			if berth.CodeOf(err) != berth.CodeNotFound && (sb.Status == berth.SandboxDestroyed) == c.keep {
				t.Errorf("it is recorded as %s", sb.Status)
			}
		})
	}
}

func (s sweeps) in(d time.Duration) *time.Time {
	at := s.clock.Now().Add(d)
	return &at
}

// ended makes the sandbox of a run that has ended and left it there.
func (s sweeps) ended(change func(*berth.Sandbox)) berth.SandboxID {
	s.t.Helper()
	head := s.live()
	_, err := s.records.ChangeRun(s.t.Context(), head.ID, func(c *records.Change) error {
		sb, err := c.Sandbox(s.t.Context())
		if err != nil {
			return err
		}
		change(sb)
		c.SetStatus(berth.RunFailed)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return head.Sandbox
}

func TestADestroyThatFailedIsTriedAgainByTheNextSweep(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	id, other := s.ended(func(*berth.Sandbox) {}), s.ended(func(*berth.Sandbox) {})
	s.provider.Fail("Destroy", berth.Errorf(berth.CodeUnavailable, "hangs"))
	swept, err := s.runner.Sweep(t.Context())
	if berth.CodeOf(err) != berth.CodeUnavailable || len(swept.Destroyed) != 1 {
		t.Errorf("Sweep() = %+v, %v, want one destroyed and the error of the other", swept, err)
	}
	s.sweep()
	for _, sandbox := range []berth.SandboxID{id, other} {
		if got := s.provider.Status(sandbox); got != berth.SandboxGone {
			t.Errorf("sandbox %s is %s", sandbox, got)
		}
	}
}

func TestARunWhoseExecutionNeverStartedIsBroughtToItsEnd(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b := newBench(t, clock)
	id := b.record(definition("echo", "late")) // and then its server died
	for range 2 {
		if _, err := b.runner.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.Advance(suspected)
	}
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "late\n" {
		t.Errorf("run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
}
