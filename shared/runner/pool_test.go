package runner_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
)

// pools is a server whose environment `warm` wants a pool.
type pools struct{ sweeps }

func newPools(t *testing.T, size int) pools {
	p := pools{newSweeps(t)}
	p.want(size, "debian:12")
	return p
}

func (p pools) environment(size int, image string) berth.Environment {
	return berth.NormalizeEnvironment(berth.Environment{
		ID: "warm", Provider: p.provider.Kind(), Image: berth.Image{Docker: &image}, Docker: &berth.DockerOptions{PoolSize: size},
		Lifecycle: berth.Lifecycle{Preserve: true, StopOnTerminal: true},
	})
}

// want writes what the environment is from now on.
func (p pools) want(size int, image string) {
	p.t.Helper()
	e := p.environment(size, image)
	old, err := p.records.FindEnvironment(p.t.Context(), e.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		_, err = p.records.CreateEnvironment(p.t.Context(), e)
	} else if err == nil {
		_, err = p.records.ReplaceEnvironment(p.t.Context(), e, old.Version)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// tend looks at the pools twice: once to make, once to find ready.
func (p pools) tend() []records.Pooled {
	p.t.Helper()
	for range 2 {
		if err := p.runner.TendPools(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
	pooled, err := p.records.ListPooled(p.t.Context(), "warm")
	if err != nil {
		p.t.Fatal(err)
	}
	return pooled
}

func (p pools) run(size int, image string) records.Head {
	p.t.Helper()
	def := definition("true")
	def.Environment = p.environment(size, image)
	id := p.record(def)
	if _, err := p.runner.Admit(p.t.Context(), runner.State{Run: id}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.runner.Provision(p.t.Context(), runner.State{Run: id}); err != nil {
		p.t.Fatal(err)
	}
	return p.head(id)
}

func TestAPoolIsFilledAndRunsTakeFromIt(t *testing.T) {
	t.Parallel()
	p := newPools(t, 2)
	pooled := p.tend()
	if len(pooled) != 2 || !pooled[0].Ready || !pooled[1].Ready {
		t.Fatalf("the pool is %+v, want two that are ready", pooled)
	}
	made := p.provider.Calls("Provision")
	first, second, third := p.run(2, "debian:12"), p.run(2, "debian:12"), p.run(2, "debian:12")
	if first.Sandbox != pooled[0].Sandbox || second.Sandbox != pooled[1].Sandbox {
		t.Errorf("the runs have %s and %s, want those of the pool", first.Sandbox, second.Sandbox)
	}
	if third.Sandbox == pooled[0].Sandbox || third.Sandbox == pooled[1].Sandbox || third.Pool != "cold" {
		t.Errorf("a third run of an empty pool has %s, %q", third.Sandbox, third.Pool)
	}
	for _, head := range []records.Head{first, second, third} {
		if head.Status != berth.RunRunning {
			t.Errorf("run %s is %s", head.ID, head.Status)
		}
		sb, err := p.records.FindSandbox(t.Context(), head.Sandbox)
		if err != nil || sb.Run != head.ID || sb.Status != berth.SandboxReady || !sb.KeptAfterRun {
			t.Errorf("sandbox %+v, %v", sb, err)
		}
	}
	if p.provider.Calls("Provision") == made {
		t.Error("the cold run made no sandbox")
	}
	if pooled := p.tend(); len(pooled) != 2 {
		t.Errorf("the pool was not filled again: %+v", pooled)
	}
}

func TestAServerHasAPoolUntilItIsDrained(t *testing.T) {
	t.Parallel()
	p := newPools(t, 1)
	has := func(want bool, when string) {
		t.Helper()
		if got, err := p.runner.HasPools(t.Context()); err != nil || got != want {
			t.Errorf("%s: HasPools = %t, %v, want %t", when, got, err, want)
		}
	}
	has(true, "wanted")
	p.tend()
	p.want(0, "debian:12")
	has(true, "no longer wanted, still there")
	p.tend()
	has(false, "drained")
}

func TestARunOfAnotherRecipeTakesNothingFromThePool(t *testing.T) {
	t.Parallel()
	p := newPools(t, 1)
	pooled := p.tend()
	if head := p.run(1, "debian:13"); head.Sandbox == pooled[0].Sandbox || head.Pool != "cold" {
		t.Errorf("a run on another image took the pooled sandbox: %+v", head)
	}
}

func TestAPoolIsDrainedWhenItsEnvironmentChanges(t *testing.T) {
	t.Parallel()
	p := newPools(t, 1)
	old := p.tend()
	p.want(1, "debian:13")
	fresh := p.tend()
	if len(fresh) != 1 || fresh[0].Sandbox == old[0].Sandbox || !fresh[0].Ready {
		t.Fatalf("the pool is %+v, want one new sandbox", fresh)
	}
	p.want(0, "debian:13")
	if left := p.tend(); len(left) != 0 {
		t.Errorf("%+v is left of a pool that nobody wants", left)
	}
	for _, id := range []berth.SandboxID{old[0].Sandbox, fresh[0].Sandbox} {
		if got := p.provider.Status(id); got != berth.SandboxGone {
			t.Errorf("sandbox %s is %s", id, got)
		}
		if _, err := p.records.FindSandbox(t.Context(), id); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("the record of sandbox %s: %v", id, err)
		}
	}
}

func TestASandboxThatDiedInThePoolIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPools(t, 1)
	old := p.tend()
	if err := p.provider.Destroy(t.Context(), berth.SandboxRef{ID: old[0].Sandbox}); err != nil {
		t.Fatal(err)
	}
	// A run that takes it before the next look has it made again.
	if head := p.run(1, "debian:12"); head.Status != berth.RunRunning {
		t.Errorf("the run is %s", head.Status)
	}
	if pooled := p.tend(); len(pooled) != 1 || !pooled[0].Ready {
		t.Errorf("the pool is %+v", pooled)
	}
}

func TestASandboxThatCannotBeMadeIsTriedAgainAfterAMinute(t *testing.T) {
	t.Parallel()
	p := newPools(t, 1)
	p.provider.Provisioned = func(_ berth.SandboxSpec, _ int, state *berth.SandboxState) {
		state.Status, state.Reason = berth.SandboxFailed, &berth.Reason{Code: berth.ReasonProvisionFailed, Message: "no image"}
	}
	p.tend()
	tries := p.provider.Calls("Provision")
	p.tend()
	if again := p.provider.Calls("Provision"); again != tries || tries == 0 {
		t.Errorf("it was tried %d and then %d times within a minute", tries, again)
	}
	p.provider.Provisioned = nil
	p.clock.Advance(time.Minute)
	if pooled := p.tend(); len(pooled) != 1 || !pooled[0].Ready {
		t.Errorf("the pool is %+v after a minute", pooled)
	}
}

func TestTwoRunsAtOnceTakeTwoSandboxes(t *testing.T) {
	t.Parallel()
	p := newPools(t, 4)
	if pooled := p.tend(); len(pooled) != 4 {
		t.Fatalf("the pool is %+v", pooled)
	}
	const runs = 4
	heads := make(chan records.Head, runs)
	def := definition("true")
	def.Environment = p.environment(4, "debian:12")
	for range runs {
		id := p.record(def)
		if _, err := p.runner.Admit(t.Context(), runner.State{Run: id}); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := p.runner.Provision(t.Context(), runner.State{Run: id})
			if err != nil {
				t.Errorf("Provision: %v", err)
			}
			head, err := p.records.FindHead(t.Context(), id)
			if err != nil {
				t.Errorf("FindHead: %v", err)
			}
			heads <- head
		}()
	}
	seen := map[berth.SandboxID]bool{}
	for range runs {
		head := <-heads
		if seen[head.Sandbox] || head.Pool != "claimed" {
			t.Errorf("run %s has sandbox %s, %q", head.ID, head.Sandbox, head.Pool)
		}
		seen[head.Sandbox] = true
	}
}
