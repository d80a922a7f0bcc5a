package runner_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// upkept is a provider with the powers that the sweeper uses.
type upkept struct {
	*runnertest.Provider
	mu      sync.Mutex // guards all below
	kept    []berth.SandboxID
	cleaned int
}

var (
	_ runner.Keeper  = (*upkept)(nil)
	_ runner.Cleaner = (*upkept)(nil)
)

func (u *upkept) KeepAlive(_ context.Context, ref berth.SandboxRef) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = append(u.kept, ref.ID)
	return nil
}

func (u *upkept) CleanUp(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cleaned++
	return nil
}

func TestTheSweeperKeepsSandboxesOfLiveRunsAliveAndNoOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	u := &upkept{Provider: b.provider}
	b.runner.Providers = providers{u}
	live := b.create(definition("sleep"))
	b.until(live, "running", func(h records.Head) bool { return h.Status == berth.RunRunning })
	kept := definition("true")
	kept.Environment.Lifecycle = berth.Lifecycle{Preserve: true}
	if run := b.ended(b.create(kept)); run.Status != berth.RunSucceeded {
		t.Fatalf("the run that is preserved: %+v", run)
	}
	if _, err := b.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, err := b.records.FindHead(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if want := []berth.SandboxID{head.Sandbox}; !slices.Equal(u.kept, want) || u.cleaned != 1 {
		t.Errorf("kept alive %v, cleaned %d times; want %v, 1", u.kept, u.cleaned, want)
	}
}
