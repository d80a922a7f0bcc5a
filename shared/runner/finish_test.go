package runner_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestASandboxThatCouldNotBeRemovedIsFailedUntilTheSweeperRemovesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(2000), func(*runner.Runner, map[string]asl.Task) {})
	b.provider.Fail("Provision", berth.Errorf(berth.CodeInvalid, "a bad image"))
	for range 9 {
		b.provider.Fail("Destroy", berth.Errorf(berth.CodeUnavailable, "no answer"))
	}
	run := b.ended(b.create(definition("true")))
	sb := b.sandboxOf(run)
	if sb.Status != berth.SandboxFailed || sb.Unmade() || sb.Reason == nil || !strings.Contains(sb.Reason.Message, "a bad image") {
		t.Fatalf("the sandbox is recorded as %+v", sb)
	}
	b.provider.Appear(sb.ID, run.ID)
	if _, err := b.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sb := b.sandboxOf(run); sb.Status != berth.SandboxDestroyed || b.provider.Status(sb.ID) != berth.SandboxGone {
		t.Errorf("after a sweep it is %s, and at the provider %s", sb.Status, b.provider.Status(sb.ID))
	}
}
