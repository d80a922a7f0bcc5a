package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestASandboxThatMayBeThereIsDestroyedAlthoughItsProviderWasAwayAtFirst(t *testing.T) {
	t.Parallel()
	b, p := withReach(t, runnertest.NewHurriedClock(20), 1)
	p.Fail("Provision", berth.Errorf(berth.CodeInvalid, "the image has no shell"))
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunFailed || p.tries() != 2 || p.Calls("Destroy") != 1 {
		t.Errorf("run ended %s after %d tries and %d calls of Destroy", run.Status, p.tries(), p.Calls("Destroy"))
	}
	if sb := b.sandboxOf(run); sb.Unmade() || sb.Status != berth.SandboxDestroyed {
		t.Errorf("the sandbox is recorded as %+v", sb)
	}
}

// shortLived is a provider whose first caller dies before it records what was made.
type shortLived struct {
	*reachable
	die context.CancelFunc
}

func (p shortLived) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	state, err := p.reachable.Provision(ctx, spec)
	if p.Calls("Provision") == 1 {
		p.die()
		return berth.SandboxState{}, ctx.Err()
	}
	return state, err
}

// tried is a run at its first try to have a sandbox, with the state of its execution.
func (b *bench) tried() (berth.RunID, runner.State) {
	b.t.Helper()
	id := b.record(definition("true"))
	s, err := b.runner.Admit(b.t.Context(), runner.State{Run: id})
	if err != nil {
		b.t.Fatal(err)
	}
	return id, s
}

// again is the next try, as an execution makes it that keeps its state as JSON.
func (b *bench) again(s runner.State) runner.State {
	b.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		b.t.Fatal(err)
	}
	var read runner.State
	if err := json.Unmarshal(text, &read); err != nil {
		b.t.Fatal(err)
	}
	if s, err = b.runner.Provision(b.t.Context(), read); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestASandboxIsDestroyedWhoseTaskDiedBeforeItRecordedIt(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]int{"at the first try": 0, "after a try that found nobody": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := runnertest.NewManualClock()
			b, p := withReach(t, clock, away)
			ctx, cancel := context.WithCancel(t.Context())
			b.runner.Providers = providers{shortLived{p, cancel}}
			id, s := b.tried()
			for range away {
				s = b.again(s)
			}
			if _, err := b.runner.Provision(ctx, s); err == nil || ctx.Err() == nil {
				t.Fatalf("Provision() = %v, want it to die", err)
			}
			for range 20 { // the server is back, and the provider is not
				p.Fail("Provision", berth.Errorf(berth.CodeUnavailable, "connection refused"))
			}
			began := clock.Now()
			for s = b.again(runner.State{Run: id}); s.Next == runner.NextWait; s = b.again(s) {
				clock.Advance(45 * time.Second)
			}
			if took := clock.Now().Sub(began); s.Next != runner.NextTeardown || took < 5*time.Minute || took > 6*time.Minute {
				t.Errorf("it went on with %s after %s, want 5 minutes", s.Next, took)
			}
			if _, err := b.runner.Teardown(t.Context(), s); err != nil || p.Calls("Destroy") != 1 || p.tries() != away+1 {
				t.Errorf("Teardown() = %v after %d tries and %d calls of Destroy", err, p.tries(), p.Calls("Destroy"))
			}
		})
	}
}

func TestASleepOfTheServerDoesNotCountAsAnOutage(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b, _ := withReach(t, clock, forEver)
	id, s := b.tried()
	s = b.again(s)
	clock.Advance(time.Hour)
	if s = b.again(s); s.Next != runner.NextWait {
		t.Fatalf("the first try after an hour's sleep went on with %s", s.Next)
	}
	clock.Advance(20 * time.Second)
	if s = b.again(s); s.Next != runner.NextWait {
		t.Fatalf("one 20 s later went on with %s", s.Next)
	}
	clock.Advance(20 * time.Second)
	if got := b.again(s); got.Next != runner.NextTeardown {
		t.Errorf("one after 40 s went on with %s", got.Next)
	}
	if head, err := b.records.FindHead(t.Context(), id); err != nil || head.Outcome == nil {
		t.Errorf("FindHead() = %+v, %v, want an outcome", head, err)
	}
}

func TestAnExecutionThatBeganAgainGivesTheProviderItsTime(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b, _ := withReach(t, clock, forEver)
	id, s := b.tried()
	b.again(s)
	clock.Advance(40 * time.Second)
	if s = b.again(runner.State{Run: id}); s.Next != runner.NextWait {
		t.Errorf("its first try went on with %s", s.Next)
	}
}

// mute is a provider whose silence takes time of the clock.
type mute struct {
	*runnertest.Provider
	clock *runnertest.ManualClock
}

func (p mute) Reach(ctx context.Context, _ berth.Environment) error {
	end, _ := ctx.Deadline()
	p.clock.Advance(time.Until(end).Round(time.Second))
	return berth.Errorf(berth.CodeTimedOut, "no answer")
}

func TestASilentProviderIsNotWaitedForLongerThanOneThatRefuses(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b, _ := withReach(t, clock, 0)
	b.runner.Providers = providers{mute{b.provider, clock}}
	_, s := b.tried()
	began := clock.Now()
	for s = b.again(s); s.Next == runner.NextWait; s = b.again(s) {
		clock.Advance(time.Duration(s.WaitSeconds) * time.Second)
	}
	if took := clock.Now().Sub(began); s.Next != runner.NextTeardown || took < 30*time.Second || took > 36*time.Second {
		t.Errorf("it went on with %s after %s, want half a minute", s.Next, took)
	}
}

func TestAnOutageWhoseCauseReadsDifferentlyEachTimeIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b, p := withReach(t, clock, 0)
	for port := range 40 {
		p.Fail("Provision", berth.Errorf(berth.CodeUnavailable, "read udp 127.0.0.1:%d: i/o timeout", 45000+port))
	}
	id, s := b.tried()
	for range 40 { // 80 s
		if s = b.again(s); s.Next != runner.NextWait {
			t.Fatalf("it went on with %s", s.Next)
		}
		clock.Advance(2 * time.Second)
	}
	want := []string{}
	for _, port := range []int{0, 15, 30} {
		want = append(want, fmt.Sprintf("trying again: read udp 127.0.0.1:%d: i/o timeout", 45000+port))
	}
	if got := b.told(id); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
