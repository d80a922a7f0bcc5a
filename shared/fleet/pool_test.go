package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// pooled keeps warm sandboxes of an environment.
func (d *driver) pooled(e berth.Environment, size int) berth.Environment {
	d.t.Helper()
	e.Docker = &berth.DockerOptions{PoolSize: size}
	if _, err := d.records.CreateEnvironment(d.t.Context(), e); err != nil {
		d.t.Fatal(err)
	}
	d.tend(4)
	return e
}

func (d *driver) tend(times int) {
	d.t.Helper()
	for range times {
		if err := d.runner.TendPools(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestAPoolTakesTheRoomThatThereIsAndItsRunsTakeFromIt(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	e := d.pooled(environment(2, "1GB"), 3)
	if diff := cmp.Diff(map[berth.HostID]int{"eu-1": 1}, d.used()); diff != "" {
		t.Fatalf("the pool holds (-want +got):\n%s", diff)
	}
	// The host is full of a sandbox that waits for this run.
	id := d.create(e, "echo", "warm")
	path := d.drive(id, nil)
	if run := d.run(id); run.Status != berth.RunSucceeded || slices.Contains(path[1:], "Admit") {
		t.Errorf("it is %s, %+v, by %s", run.Status, run.Reason, path)
	}
	if n := d.agents["eu-1"].Calls("Provision"); n < 1 || len(askedFor(d.agents["eu-1"].Provider)) != 1 {
		t.Errorf("it made a sandbox of its own: %v", askedFor(d.agents["eu-1"].Provider))
	}
}

// askedFor are the sandboxes that a provider was asked for, each once.
func askedFor(p *runnertest.Provider) []berth.SandboxID {
	var all []berth.SandboxID
	for _, spec := range p.Specs() {
		if !slices.Contains(all, spec.ID) {
			all = append(all, spec.ID)
		}
	}
	return all
}

func TestWarmSandboxesMakeRoomForOtherRuns(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	d.pooled(environment(1, "1GB"), 2)
	if d.used()["eu-1"] != 2 {
		t.Fatalf("the pool holds %v", d.used())
	}
	other := environment(2, "1GB")
	other.ID = "other"
	id := d.create(other, "true")
	path := d.drive(id, nil)
	if run := d.run(id); run.Status != berth.RunSucceeded || slices.Contains(path[1:], "Admit") {
		t.Errorf("it is %s, %+v, by %s", run.Status, run.Reason, path)
	}
	// What no host could take in any case costs no warm sandbox.
	d.tend(3)
	big := environment(64, "1GB")
	big.ID = "big"
	if s, err := d.runner.Admit(t.Context(), runner.State{Run: d.create(big, "true")}); err != nil || s.Next != runner.NextWait {
		t.Errorf("Admit() = %+v, %v", s, err)
	}
	if d.used()["eu-1"] != 2 {
		t.Errorf("the pool holds %v", d.used())
	}
}

func TestAWarmSandboxOnALostHostIsGivenUp(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	d.pooled(environment(1, "1GB"), 1)
	d.host("eu-2", 2, 8e9)
	d.down("eu-1", true)
	d.clock.Advance(berth.HostGrace + time.Second)
	d.beat("eu-2")
	_ = d.runner.TendPools(t.Context()) // it says that it could not destroy what is out of reach
	d.tend(3)
	pooled, err := d.records.ListPooled(t.Context(), "")
	if err != nil || len(pooled) != 1 || !pooled[0].Ready {
		t.Fatalf("pooled %+v, %v", pooled, err)
	}
	sb, err := d.records.FindSandbox(t.Context(), pooled[0].Sandbox)
	if err != nil || sb.Host != "eu-2" {
		t.Errorf("the warm sandbox is on %q, %v", sb.Host, err)
	}
}

func TestAWarmSandboxMakesRoomAlsoWhereItCannotBeDestroyedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	d.pooled(environment(2, "1GB"), 1)
	other := environment(2, "1GB")
	other.ID = "other"
	id := d.create(other, "true")
	warm := askedFor(d.agents["eu-1"].Provider)[0]
	d.down("eu-1", true)
	if s, err := d.runner.Admit(t.Context(), runner.State{Run: id}); err != nil || s.Next != runner.NextProvision {
		t.Fatalf("Admit() = %+v, %v", s, err)
	}
	d.down("eu-1", false)
	d.drive(id, nil)
	swept, err := d.runner.Sweep(t.Context())
	if err != nil || !slices.Contains(swept.Destroyed, warm) || d.agents["eu-1"].Status(warm) != berth.SandboxGone {
		t.Errorf("the sweep did %+v, %v", swept, err)
	}
}
