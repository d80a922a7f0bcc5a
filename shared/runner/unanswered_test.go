package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// reachable is a provider that says whether it is there: away counts down the
// tries that find it gone.
type reachable struct {
	*runnertest.Provider

	mu    sync.Mutex // guards what follows
	away  int
	asked int
}

func (p *reachable) Reach(context.Context, berth.Environment) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.away--; p.away >= 0 {
		return berth.Errorf(berth.CodeUnavailable, "connection refused")
	}
	return nil
}

func (p *reachable) tries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

const forEver = 1 << 30

// withReach is a bench whose provider is away for so many tries.
func withReach(t *testing.T, clock berth.Clock, away int) (*bench, *reachable) {
	t.Helper()
	b := newBench(t, clock, func(*runner.Runner, map[string]asl.Task) {})
	p := &reachable{Provider: b.provider, away: away}
	b.runner.Providers = providers{p}
	return b, p
}

func (b *bench) sandboxOf(run berth.Run) berth.Sandbox {
	b.t.Helper()
	sb, err := b.records.FindSandbox(b.t.Context(), run.Sandbox)
	if err != nil {
		b.t.Fatal(err)
	}
	return sb
}

// told are the messages of a run's progress.
func (b *bench) told(id berth.RunID) (messages []string) {
	for _, e := range b.events(id) {
		if e.Kind == berth.EventSandboxProgress {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func TestAProviderThatIsNeverReachedEndsTheRunSoon(t *testing.T) {
	t.Parallel()
	b, p := withReach(t, runnertest.NewHurriedClock(20), forEver)
	id := b.create(definition("true"))
	run := b.ended(id)
	if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonProvisionFailed ||
		!strings.Contains(run.Reason.Message, "connection refused") || run.Reason.Remediation == "" {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
	// Half a minute, and two seconds between two tries.
	if n := p.tries(); n < 2 || n > 40 {
		t.Errorf("the provider was tried %d times", n)
	}
	if n := p.Calls("Provision") + p.Calls("Destroy"); n != 0 {
		t.Errorf("it was asked to make or destroy %d times", n)
	}
	if got := b.told(id); len(got) != 1 || got[0] != "trying again: connection refused" {
		t.Errorf("the progress is %q, want the cause, once", got)
	}
	if sb := b.sandboxOf(run); sb.Status != berth.SandboxFailed || !sb.Unmade() || sb.Reason.Remediation == "" {
		t.Errorf("the sandbox is recorded as %+v", sb)
	}
}

func TestAProviderThatComesBackInTimeMakesTheSandbox(t *testing.T) {
	t.Parallel()
	b, p := withReach(t, runnertest.NewHurriedClock(2), 2)
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunSucceeded {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
	if sb := b.sandboxOf(run); p.tries() != 3 || sb.Reason != nil {
		t.Errorf("it was tried %d times, and the sandbox is %+v", p.tries(), sb)
	}
}

func TestAnOutageIsWaitedForOnceASandboxMayBeThere(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*reachable){
		"after a call without an answer": func(p *reachable) {
			for range 20 {
				p.Fail("Provision", berth.Errorf(berth.CodeUnavailable, "the answer was lost"))
			}
		},
		"after one that said nothing but that it began": func(p *reachable) {
			p.Provisioned = func(_ berth.SandboxSpec, calls int, s *berth.SandboxState) {
				s.Ref = ""
				if s.Status = berth.SandboxReady; calls == 1 {
					s.Status = berth.SandboxCreating
					p.away = forEver
				}
			}
			for range 20 {
				p.Fail("Describe", berth.Errorf(berth.CodeUnavailable, "connection refused"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := withReach(t, runnertest.NewHurriedClock(20), 0)
			b.runner.ProvisionPatience = time.Millisecond
			set(p)
			run := b.ended(b.create(definition("true")))
			if run.Status != berth.RunSucceeded {
				t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
			}
			if p.tries() != 1 {
				t.Errorf("it was looked for %d times, want once", p.tries())
			}
		})
	}
}

func TestTriesAreSecondsApartSoThatACancelIsSeenSoon(t *testing.T) {
	t.Parallel()
	b, p := withReach(t, berth.SystemClock{}, forEver)
	id := b.record(definition("true"))
	s := runner.State{Run: id}
	var err error
	if s, err = b.runner.Admit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if s, err = b.runner.Provision(t.Context(), s); err != nil || s.Next != runner.NextWait || s.WaitSeconds < 1 || s.WaitSeconds > 2 {
			t.Fatalf("Provision() = %+v, %v, want a wait of 1 or 2 s", s, err)
		}
	}
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s, err = b.runner.Provision(t.Context(), s); err != nil || s.Next != runner.NextTeardown || p.tries() != 5 {
		t.Fatalf("Provision() of a cancelled run = %+v, %v after %d tries", s, err, p.tries())
	}
	for _, task := range []func(context.Context, runner.State) (runner.State, error){b.runner.Teardown, b.runner.Finish} {
		if s, err = task(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	run := b.ended(id)
	if sb := b.sandboxOf(run); run.Status != berth.RunCancelled || sb.Status != berth.SandboxDestroyed || p.Calls("Destroy") != 0 {
		t.Errorf("run ended %s, its sandbox %s after %d calls of Destroy", run.Status, sb.Status, p.Calls("Destroy"))
	}
}

// silent is a provider that neither refuses nor answers.
type silent struct {
	*runnertest.Provider
	asked chan struct{}
}

func (p silent) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	_ = p.Provider.Destroy(ctx, ref) // counts the call
	<-ctx.Done()
	return ctx.Err()
}

func (p silent) Reach(ctx context.Context, _ berth.Environment) error {
	close(p.asked)
	<-ctx.Done()
	return ctx.Err()
}

func TestCancelDoesNotWaitForAProviderThatIsSilent(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{}, func(*runner.Runner, map[string]asl.Task) {})
	p := silent{b.provider, make(chan struct{})} // a second call would panic
	b.runner.Providers = providers{p}
	id := b.create(definition("true"))
	<-p.asked
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	run := b.ended(id)
	if n := p.Calls("Provision") + p.Calls("Destroy"); run.Status != berth.RunCancelled || n != 0 {
		t.Errorf("run ended %s after %d calls of Provision and Destroy", run.Status, n)
	}
	if sb := b.sandboxOf(run); sb.Status != berth.SandboxDestroyed {
		t.Errorf("the sandbox is recorded as %+v", sb)
	}
}
