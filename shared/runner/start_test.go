package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestASandboxThatDiedBeforeTheStartIsLostAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewManualClock()) // no retry would ever come
	b.provider.Fail("StartCommand", berth.Errorf(berth.CodeUnavailable, "the guest does not answer"))
	b.runner.Providers = providers{&dying{b.provider}}
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonLost || !strings.Contains(run.Reason.Message, "guest") {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
}

// dying has sandboxes that are dead whenever somebody looks.
type dying struct{ *runnertest.Provider }

func (d *dying) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := d.Provider.Describe(ctx, ref)
	state.Status = berth.SandboxFailed
	return state, err
}

func TestWhatTheProviderRefusesToStartFailsTheRunWithItsWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.provider.Fail("StartCommand", berth.Errorf(berth.CodeInvalid, "there is no directory sub"))
	run := b.ended(b.create(definition("true")))
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonCommandFailed || !strings.Contains(run.Reason.Message, "no directory sub") {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
	if run.Stages[0].Status != berth.StageFailed || run.Exit == nil {
		t.Errorf("its stage is %s, exit %+v", run.Stages[0].Status, run.Exit)
	}
}
