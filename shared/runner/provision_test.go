package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestASandboxThatCannotBeMadeFailsTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*bench)
		code string
	}{
		"for bash is missing": {func(b *bench) {
			b.provider.Provisioned = func(_ berth.SandboxSpec, _ int, s *berth.SandboxState) {
				s.Status, s.Reason = berth.SandboxFailed, &berth.Reason{Code: berth.ReasonBashMissing, Message: "no bash", Remediation: "install it"}
			}
		}, berth.ReasonBashMissing},
		"for the provider refuses it": {func(b *bench) {
			b.provider.Fail("Provision", berth.Errorf(berth.CodeInvalid, "a bad image"))
		}, berth.ReasonProvisionFailed},
		"for the provider is off": {func(b *bench) { b.runner.Providers = providers{} }, berth.ReasonProviderDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{})
			c.set(b)
			run := b.ended(b.create(definition("true")))
			if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != c.code {
				t.Errorf("run ended %s because of %+v, want %s", run.Status, run.Reason, c.code)
			}
			sb, err := b.records.FindSandbox(t.Context(), run.Sandbox)
			if err != nil || sb.Status != berth.SandboxDestroyed {
				t.Errorf("the sandbox is recorded as %s, %v", sb.Status, err)
			}
		})
	}
}

func TestASandboxThatTakesTimeIsWaitedForAndItsProgressTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(20), func(r *runner.Runner, _ map[string]asl.Task) { r.ProvisionPatience = 300 * time.Millisecond })
	b.provider.Provisioned = func(_ berth.SandboxSpec, calls int, s *berth.SandboxState) {
		s.Status, s.Detail = berth.SandboxCreating, fmt.Sprintf("pulling %d%%", calls/10*10)
		if calls > 30 {
			s.Status = berth.SandboxReady
		}
	}
	id := b.create(definition("true"))
	if run := b.ended(id); run.Status != berth.RunSucceeded {
		t.Fatalf("run ended %s because of %+v", run.Status, run.Reason)
	}
	told := 0
	for _, e := range b.events(id) {
		if e.Kind == berth.EventSandboxProgress {
			told++
		}
	}
	if told == 0 {
		t.Error("no progress was told")
	}
}

func TestAProviderThatDoesNotAnswerIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(50), func(*runner.Runner, map[string]asl.Task) {})
	away := berth.Errorf(berth.CodeUnavailable, "no answer")
	for _, method := range []string{"Provision", "StartCommand", "ReadOutput", "Destroy"} {
		b.provider.Fail(method, away, away)
	}
	id := b.create(definition("echo", "once"))
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "once\n" {
		t.Errorf("run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
}

func TestAProviderThatNeverAnswersFailsTheRunWithItsWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(2000), func(*runner.Runner, map[string]asl.Task) {})
	away := berth.Errorf(berth.CodeUnavailable, "the engine does not answer")
	for range 200 { // more than there are tries
		b.provider.Fail("Provision", away)
	}
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonProvisionFailed || !strings.Contains(run.Reason.Message, "the engine does not answer") {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
}
