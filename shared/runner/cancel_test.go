package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestCancelEndsARunInEveryState(t *testing.T) {
	t.Parallel()
	running := func(h records.Head) bool { return h.Stage != "" }
	for name, c := range map[string]struct {
		clock   berth.Clock
		options []option
		set     func(*bench)
		argv    []string
		when    func(*bench, records.Head) bool
		wait    bool // do not start the execution before the cancel
	}{
		"submitted": {wait: true, argv: []string{"true"}, when: func(*bench, records.Head) bool { return true }},
		"queued": {
			clock:   runnertest.NewHurriedClock(100),
			options: []option{func(r *runner.Runner, _ map[string]asl.Task) { r.MaxLiveRuns = 1 }},
			set: func(b *bench) {
				other := b.create(definition("sleep"))
				b.until(other, "running", running)
				b.t.Cleanup(func() {
					if err := b.runner.Cancel(b.t.Context(), other); err == nil {
						b.ended(other)
					}
				})
			},
			argv: []string{"true"}, when: func(_ *bench, h records.Head) bool { return h.Status == berth.RunQueued },
		},
		"provisioning": {
			clock: runnertest.NewHurriedClock(20),
			set: func(b *bench) {
				b.provider.Provisioned = func(_ berth.SandboxSpec, _ int, s *berth.SandboxState) { s.Status = berth.SandboxCreating }
			},
			argv: []string{"true"}, when: func(b *bench, h records.Head) bool {
				return h.Status == berth.RunProvisioning && b.provider.Calls("Provision") > 0
			},
		},
		"running": {argv: []string{"sleep"}, when: func(_ *bench, h records.Head) bool { return running(h) }},
		"running, when the provider does not answer at once": {
			set: func(b *bench) {
				away := berth.Errorf(berth.CodeUnavailable, "no answer")
				b.provider.Fail("Cancel", away, away) // so that Follow has to do it
			},
			argv: []string{"sleep"}, when: func(_ *bench, h records.Head) bool { return running(h) },
		},
		"waiting for output": {
			options: []option{attached(5 * time.Millisecond)},
			argv:    []string{"sleep"}, when: func(_ *bench, h records.Head) bool { return h.Token != "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := c.clock
			if clock == nil {
				clock = berth.SystemClock{}
			}
			b := newBench(t, clock, c.options...)
			if c.set != nil {
				c.set(b)
			}
			def := definition(c.argv...)
			def.Prepare = nil
			id := b.record(def)
			if !c.wait {
				b.start(id)
			}
			b.until(id, name, func(h records.Head) bool { return c.when(b, h) })
			for range 2 { // the second finds it decided, or ended
				err := b.runner.Cancel(t.Context(), id)
				if err != nil && berth.CodeOf(err) != berth.CodeConflict {
					t.Fatal(err)
				}
			}
			if c.wait {
				b.start(id)
			}
			run := b.ended(id)
			if run.Status != berth.RunCancelled || run.Reason == nil || run.Reason.Code != berth.ReasonCancelled || !run.CancelRequested {
				t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
			}
			if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone {
				t.Errorf("the sandbox is %s", got)
			}
			for _, s := range run.Stages {
				if !s.Status.Ended() || s.Status == berth.StageSucceeded {
					t.Errorf("stage %s is %s", s.ID, s.Status)
				}
			}
			if running := run.Stages[0].StartedAt != nil; running && (run.Exit == nil || run.Exit.Reason != berth.ExitCancelled) {
				t.Errorf("the exit of a running command is %+v", run.Exit)
			}
			if err := b.runner.Cancel(t.Context(), id); berth.CodeOf(err) != berth.CodeConflict {
				t.Errorf("Cancel of an ended run = %v, want conflict", err)
			}
			sb, err := b.records.FindSandbox(t.Context(), run.Sandbox)
			if err != nil || sb.Status != berth.SandboxDestroyed {
				t.Errorf("the sandbox is recorded as %s, %v", sb.Status, err)
			}
		})
	}
}

func TestCancelDoesNotWaitForAPoll(t *testing.T) {
	t.Parallel()
	// The clock stands still: every wait by it would last for ever.
	b := newBench(t, runnertest.NewManualClock())
	id := b.create(definition("sleep"))
	b.until(id, "running", func(h records.Head) bool { return h.Stage != "" })
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if run := b.ended(id); run.Status != berth.RunCancelled {
		t.Errorf("run ended %s", run.Status)
	}
}

func TestACancelBetweenTheRecordAndTheStartKeepsTheCommandFromStarting(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	var id berth.RunID
	b.provider.Fail("StartCommand", nil)
	b.runner.Providers = providers{&slowStart{Provider: b.provider, before: func() {
		if err := b.runner.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}}}
	id = b.record(definition("echo", "never"))
	b.start(id)
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunCancelled || out != "" {
		t.Errorf("run ended %s and said %q", run.Status, out)
	}
}

// slowStart lets something happen before a command is started.
type slowStart struct {
	*runnertest.Provider
	before func()
}

func (s *slowStart) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	s.before()
	return s.Provider.StartCommand(ctx, ref, spec)
}

func TestTheFirstRecordedOutcomeWins(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.runner.Providers = providers{&slowDestroy{Provider: b.provider, before: func(run berth.RunID) {
		if err := b.runner.Cancel(t.Context(), run); err != nil {
			t.Errorf("Cancel during the teardown = %v", err)
		}
	}}}
	if run := b.ended(b.create(definition("true"))); run.Status != berth.RunSucceeded || run.CancelRequested {
		t.Errorf("run ended %s", run.Status)
	}
}

type slowDestroy struct {
	*runnertest.Provider
	before func(berth.RunID)
}

func (s *slowDestroy) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	state, err := s.Provider.Describe(ctx, ref)
	if err != nil {
		return err
	}
	s.before(state.Run)
	return s.Provider.Destroy(ctx, ref)
}

// slowSecrets lets something happen before a secret is read.
type slowSecrets struct {
	berth.Secrets
	before func()
}

func (s slowSecrets) Read(ctx context.Context, name string) (berth.SecretValue, error) {
	s.before()
	return s.Secrets.Read(ctx, name)
}

func TestACancelWhileSecretsAreResolvedKeepsTheStageFromStarting(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.secret("TOKEN", "canary-value", berth.SecretToken)
	var id berth.RunID
	b.runner.Secrets = slowSecrets{b.secrets, func() {
		if err := b.runner.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}}
	def := definition("true")
	def.Environment.Env = map[string]string{"A": "{{ secrets.TOKEN }}"}
	id = b.record(def)
	b.start(id)
	run := b.ended(id)
	if n := b.provider.Calls("StartCommand"); run.Status != berth.RunCancelled || n != 0 || run.Stages[0].Status != berth.StageSkipped {
		t.Errorf("run ended %s after %d starts, its stage is %s", run.Status, n, run.Stages[0].Status)
	}
}
