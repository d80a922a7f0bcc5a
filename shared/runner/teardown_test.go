package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestTheLifecycleDecidesWhatBecomesOfTheSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lifecycle berth.Lifecycle
		argv      string
		there     berth.SandboxStatus
		recorded  berth.SandboxStatus
		preserved bool
		until     time.Duration
		hint      string
	}{
		"not preserved, stopped: destroyed": {
			lifecycle: berth.Lifecycle{StopOnTerminal: true}, argv: "true", there: berth.SandboxGone, recorded: berth.SandboxDestroyed,
		},
		"preserved, stopped: stopped and kept": {
			lifecycle: berth.Lifecycle{Preserve: true, StopOnTerminal: true}, argv: "true",
			there: berth.SandboxStopped, recorded: berth.SandboxStopped, preserved: true, hint: "berth sandbox start ",
		},
		"preserved, not stopped: left running": {
			lifecycle: berth.Lifecycle{Preserve: true}, argv: "true",
			there: berth.SandboxReady, recorded: berth.SandboxReady, preserved: true, hint: "berth exec ",
		},
		"not preserved, not stopped: left running for a day": {
			lifecycle: berth.Lifecycle{}, argv: "true",
			there: berth.SandboxReady, recorded: berth.SandboxReady, until: 24 * time.Hour, hint: "berth exec ",
		},
		"a failed command changes nothing of it": {
			lifecycle: berth.Lifecycle{Preserve: true}, argv: "false",
			there: berth.SandboxReady, recorded: berth.SandboxReady, preserved: true, hint: "berth exec ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := runnertest.NewManualClock()
			b := newBench(t, clock)
			def := definition(c.argv)
			def.Environment.Lifecycle = c.lifecycle
			run := b.ended(b.create(def))
			sb, err := b.records.FindSandbox(t.Context(), run.Sandbox)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.provider.Status(run.Sandbox); got != c.there || sb.Status != c.recorded || sb.Preserved != c.preserved {
				t.Errorf("the sandbox is %s, recorded as %s, preserved %v", got, sb.Status, sb.Preserved)
			}
			if (sb.KeepUntil != nil) != (c.until > 0) || sb.KeepUntil != nil && !sb.KeepUntil.Equal(clock.Now().Add(c.until)) {
				t.Errorf("it is kept until %v", sb.KeepUntil)
			}
			if !strings.HasPrefix(run.Hint, c.hint) || (c.hint == "") != (run.Hint == "") {
				t.Errorf("hint = %q, want %q…", run.Hint, c.hint)
			}
		})
	}
}

func TestTheProvidersOwnWayInIsTheHint(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.provider.Provisioned = func(_ berth.SandboxSpec, _ int, s *berth.SandboxState) { s.Hint = "docker exec -it x bash" }
	def := definition("true")
	def.Environment.Lifecycle = berth.Lifecycle{Preserve: true}
	if run := b.ended(b.create(def)); run.Hint != "docker exec -it x bash" {
		t.Errorf("hint = %q", run.Hint)
	}
}

func TestAPreservedSandboxThatIsGoneIsNotSaidToBeKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	var id berth.RunID
	ready := make(chan struct{})
	b.provider.Programs["vanish"] = func(*runnertest.Process) int {
		<-ready
		head, err := b.records.FindHead(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		b.provider.Vanish(head.Sandbox)
		return 0
	}
	def := definition("vanish")
	def.Environment.Lifecycle = berth.Lifecycle{Preserve: true}
	id = b.create(def)
	close(ready)
	run := b.ended(id)
	sb, err := b.records.FindSandbox(t.Context(), run.Sandbox)
	if err != nil || sb.Status != berth.SandboxDestroyed || sb.Preserved || run.Hint != "" {
		t.Errorf("the sandbox is recorded as %s, preserved %v, hint %q, %v", sb.Status, sb.Preserved, run.Hint, err)
	}
}

func TestASandboxThatCannotBeDestroyedDoesNotKeepItsRunFromEnding(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(2000), func(*runner.Runner, map[string]asl.Task) {})
	stuck := berth.Errorf(berth.CodeUnavailable, "the engine hangs")
	for range 9 {
		b.provider.Fail("Destroy", stuck)
	}
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunSucceeded {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
	if got := b.provider.Status(run.Sandbox); got != berth.SandboxReady {
		t.Fatalf("the sandbox is %s", got)
	}
	swept, err := b.runner.Sweep(t.Context())
	if err != nil || len(swept.Destroyed) != 1 {
		t.Errorf("Sweep() = %+v, %v", swept, err)
	}
	if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone {
		t.Errorf("the sandbox is %s after the sweep", got)
	}
}

func TestARunThatFailsItselfLeavesNoCommandInASandboxThatIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	bug := berth.Errorf(berth.CodeInternal, "a bug")
	b.provider.Fail("ReadOutput", bug)
	def := definition("sleep")
	def.Environment.Lifecycle = berth.Lifecycle{Preserve: true}
	run := b.ended(b.create(def))
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonExecutionFailed || !strings.Contains(run.Reason.Message, "a bug") {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
	if s := run.Stages[0]; s.Status != berth.StageFailed || s.Exit == nil || s.Exit.Reason != berth.ExitLost {
		t.Errorf("its stage is %s with %+v", s.Status, s.Exit)
	}
	state, err := b.provider.DescribeCommand(t.Context(), berth.SandboxRef{ID: run.Sandbox}, "stage-01-command")
	if err != nil || state.Status != berth.CommandEnded {
		t.Errorf("the command is %s, %v", state.Status, err)
	}
}
