package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
)

// machine stands for what drives executions: it knows them all as running.
type machine struct {
	berth.Orchestrator

	mu       sync.Mutex // guards answered
	answered []string
}

func (*machine) Describe(context.Context, berth.ExecutionID) (berth.Execution, error) {
	return berth.Execution{Status: berth.ExecutionRunning}, nil
}

func (m *machine) Answer(_ context.Context, token string, _ []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = append(m.answered, token)
	return nil
}

// driver takes runs through the state machine by hand, on a clock that moves only
// in its waits.
type driver struct {
	*fixture
	runner  *runner.Runner
	machine *machine
	alive   []berth.HostID // hosts that send heartbeats
}

func newDriver(t *testing.T) *driver {
	f := newFixture(t)
	d := &driver{fixture: f, machine: &machine{}}
	d.runner = &runner.Runner{
		Records: f.records, Providers: control.NewProviders(f.Fleet), Secrets: f.secrets, Orchestrator: d.machine,
		Clock: pausing{f.clock}, Installation: "inst", Logger: quiet(), FollowTotal: -1, ProvisionPatience: -1,
	}
	return d
}

// create records a run that is to run argv.
func (d *driver) create(e berth.Environment, argv ...string) berth.RunID {
	d.t.Helper()
	id := berth.RunID(d.records.IDs.NewID())
	def := berth.Definition{Environment: e, Command: argv}
	_, err := d.records.CreateRun(d.t.Context(), records.Head{ID: id, CreatedBy: "test"}, def, runner.Plan(def), berth.Sandbox{
		ID: d.sandbox(), Environment: e.ID, Provider: e.Provider, Status: berth.SandboxCreating, Labels: e.Labels,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// wait is a Wait of the machine.
func (d *driver) wait(seconds int) {
	d.clock.Advance(time.Duration(seconds) * time.Second)
	d.beat(d.alive...)
}

const steps = 400 // more than any run here takes

// drive takes a run to the end and returns the states that it was in. before is
// called ahead of each task; when it returns false the run is left there.
func (d *driver) drive(id berth.RunID, before func(task string, n int) bool) (path []string) {
	d.t.Helper()
	s, task := runner.State{Run: id, Execution: runner.ExecutionID(id, 1)}, "Admit"
	tasks := map[string]func(context.Context, runner.State) (runner.State, error){
		"Admit": d.runner.Admit, "Provision": d.runner.Provision, "Advance": d.runner.Advance, "Start": d.runner.Start,
		"Follow": d.runner.Follow, "Teardown": d.runner.Teardown, "Finish": d.runner.Finish,
	}
	for n := range steps {
		if before != nil && !before(task, n) {
			return path
		}
		path = append(path, task)
		next, err := tasks[task](d.t.Context(), s)
		if err != nil {
			d.t.Fatalf("%s of step %d: %v", task, n, err)
		}
		s = next
		switch {
		case task == "Finish":
			return path
		case task == "Teardown":
			task = "Finish"
		case s.Next == runner.NextWait || s.Next == runner.NextPause:
			d.wait(s.WaitSeconds)
		case task == "Start":
			task = "Follow"
		case s.Next == runner.NextFollow:
			time.Sleep(time.Millisecond) // the command writes at its own pace
		case s.Next == runner.NextAwait:
			if err := d.runner.AwaitOutput(d.t.Context(), runner.Await{State: s, Token: fmt.Sprint("token", n)}); err != nil {
				d.t.Fatalf("AwaitOutput of step %d: %v", n, err)
			}
			d.wait(1)
			time.Sleep(time.Millisecond)
		default:
			task = strings.ToUpper(string(s.Next[:1])) + string(s.Next[1:])
		}
	}
	d.t.Fatalf("the run does not end: %s", path)
	return nil
}

func (d *driver) run(id berth.RunID) berth.Run {
	d.t.Helper()
	run, err := d.records.FindRun(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return run
}

func (d *driver) used() map[berth.HostID]int {
	d.t.Helper()
	usage, err := d.records.ListUsage(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	used := map[berth.HostID]int{}
	for id, u := range usage {
		used[id] = u.Sandboxes
	}
	return used
}

func (d *driver) down(id berth.HostID, down bool) {
	d.agents[id].set(func(a *agent) {
		a.down = nil
		if down {
			a.down = errDown
		}
	})
}

func TestARunGoesToAHostAndLeavesNothingThere(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 4, 8e9)
	id := d.create(environment(2, "1GB"), "echo", "hello")
	d.drive(id, func(task string, _ int) bool {
		if task == "Start" {
			if diff := cmp.Diff(map[berth.HostID]int{"eu-1": 1}, d.used()); diff != "" {
				t.Errorf("while it runs (-want +got):\n%s", diff)
			}
		}
		return true
	})
	run := d.run(id)
	sb, err := d.records.FindSandbox(t.Context(), run.Sandbox)
	if run.Status != berth.RunSucceeded || err != nil || sb.Host != "eu-1" || sb.Status != berth.SandboxDestroyed {
		t.Errorf("run %s, %+v, sandbox %+v, %v", run.Status, run.Reason, sb, err)
	}
	if specs := d.agents["eu-1"].Specs(); len(specs) == 0 || specs[0].Host != "eu-1" {
		t.Errorf("made as %+v", specs)
	}
	if diff := cmp.Diff(map[berth.HostID]int{"eu-1": 0}, d.used()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestARunWaitsInTheQueueForAHostWithRoomAndSaysForWhat(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	d.alive = []berth.HostID{"eu-1"}
	first, second := d.create(environment(2, "1GB"), "sleep"), d.create(environment(2, "1GB"), "true")
	d.drive(first, func(task string, _ int) bool { return task != "Follow" })
	looks := 0
	d.drive(second, func(task string, n int) bool {
		if task != "Admit" || n == 0 {
			return true
		}
		looks++
		run := d.run(second)
		if run.Status != berth.RunQueued || run.Reason == nil || run.Reason.Code != berth.ReasonNoRoom || !strings.Contains(run.Reason.Message, "eu-1 has 0 cores") {
			t.Errorf("while it waits it is %s, %+v", run.Status, run.Reason)
		}
		if looks == 3 {
			if err := d.runner.Cancel(t.Context(), first); err != nil {
				t.Error(err)
			}
			d.drive(first, nil)
		}
		return true
	})
	run := d.run(second)
	if run.Status != berth.RunSucceeded || run.Reason != nil || looks != 3 {
		t.Errorf("after %d looks it is %s, %+v", looks, run.Status, run.Reason)
	}
	events, err := d.records.ListEvents(t.Context(), second, 0, 100)
	if err != nil || !slices.ContainsFunc(events, func(e berth.Event) bool {
		return e.Status == string(berth.RunQueued) && e.Reason != nil && e.Reason.Code == berth.ReasonNoRoom
	}) {
		t.Errorf("no event says why it is queued: %+v, %v", events, err)
	}
}

func TestOfTwoRunsForOnePlaceOneWaits(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	ids := []berth.RunID{d.create(environment(2, "1GB"), "true"), d.create(environment(2, "1GB"), "true")}
	next := make([]runner.Next, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			s, err := d.runner.Admit(t.Context(), runner.State{Run: id})
			if err != nil {
				t.Error(err)
			}
			next[i] = s.Next
		})
	}
	wg.Wait()
	slices.Sort(next)
	if diff := cmp.Diff([]runner.Next{runner.NextProvision, runner.NextWait}, next); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnAdmissionThatDiedAfterItTookAPlaceKeepsIt(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	id := d.create(environment(2, "1GB"), "true")
	if p, err := d.Place(t.Context(), d.run(id).Sandbox, environment(2, "1GB")); err != nil || p.Host != "eu-1" {
		t.Fatal(p, err)
	}
	d.drive(id, nil)
	if run := d.run(id); run.Status != berth.RunSucceeded || d.used()["eu-1"] != 0 {
		t.Errorf("%s, %+v, used %v", run.Status, run.Reason, d.used())
	}
}

func TestAHostThatIsSilentForAWhileCostsARunNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"Provision", "Start", "Follow", "Teardown"} {
		t.Run("from "+at+" on", func(t *testing.T) {
			t.Parallel()
			d := newDriver(t)
			d.host("eu-1", 2, 8e9)
			d.alive = []berth.HostID{"eu-1"}
			id := d.create(environment(1, "1GB"), "echo", "hello")
			since, path := 0, []string(nil)
			path = d.drive(id, func(task string, n int) bool {
				if task == at && since == 0 && at != "Teardown" {
					d.down("eu-1", true)
					since = n + 1
				}
				if since > 0 && n > since+8 {
					d.down("eu-1", false)
				}
				return true
			})
			run := d.run(id)
			if run.Status != berth.RunSucceeded || run.Exit == nil || !run.Exit.Succeeded() {
				t.Errorf("it is %s, %+v, by %s", run.Status, run.Reason, path)
			}
			if n := d.agents["eu-1"].Calls("StartCommand"); n != 1 {
				t.Errorf("the command was started %d times", n)
			}
		})
	}
}

func TestAHostThatIsGoneMakesItsRunsLostAfterTheGraceAndNotBefore(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"Provision", "Start", "Follow"} {
		t.Run("from "+at+" on", func(t *testing.T) {
			t.Parallel()
			d := newDriver(t)
			d.host("eu-1", 2, 8e9)
			id := d.create(environment(1, "1GB"), "sleep")
			begun := d.clock.Now()
			gone := false
			d.drive(id, func(task string, _ int) bool {
				if task == at && !gone {
					d.down("eu-1", true)
					gone = true
				}
				if task == "Teardown" && d.clock.Now().Sub(begun) <= berth.HostGrace {
					t.Errorf("it is torn down after %s", d.clock.Now().Sub(begun))
				}
				return true
			})
			run := d.run(id)
			if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonLost ||
				!strings.Contains(run.Reason.Message, "host eu-1 is lost") || run.Exit == nil || run.Exit.Reason != berth.ExitLost {
				t.Errorf("it is %s, %+v, %+v", run.Status, run.Reason, run.Exit)
			}
			if after := d.clock.Now().Sub(begun); after > berth.HostGrace+time.Minute {
				t.Errorf("it took %s", after)
			}
		})
	}
}

func TestTheSweeperEndsRunsOfLostHostsAndDestroysWhatComesBack(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	d.host("eu-2", 1, 8e9)
	lost, fine := d.create(environment(2, "1GB"), "sleep"), d.create(environment(1, "1GB"), "sleep")
	for _, id := range []berth.RunID{lost, fine} {
		d.drive(id, func(task string, _ int) bool { return task != "Follow" })
	}
	d.down("eu-1", true)
	d.clock.Advance(berth.HostGrace)
	d.beat("eu-2")
	if swept, err := d.runner.Sweep(t.Context()); err != nil || len(swept.Ended) > 0 {
		t.Fatalf("within the grace the sweep did %+v, %v", swept, err)
	}
	d.clock.Advance(time.Second)
	swept, err := d.runner.Sweep(t.Context())
	if err != nil || len(swept.Ended) != 1 || swept.Ended[0] != lost {
		t.Fatalf("the sweep did %+v, %v", swept, err)
	}
	if run := d.run(lost); run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonLost || run.Exit.Reason != berth.ExitLost {
		t.Errorf("the lost run is %s, %+v, %+v", run.Status, run.Reason, run.Exit)
	}
	if run := d.run(fine); run.Status != berth.RunRunning {
		t.Errorf("the run on another host is %s", run.Status)
	}
	sandbox := d.run(lost).Sandbox
	if s := d.agents["eu-1"].Status(sandbox); s != berth.SandboxReady {
		t.Errorf("the sandbox out of reach is %s", s)
	}
	// The host was only cut off. What is left on it goes.
	d.down("eu-1", false)
	d.beat("eu-1")
	if swept, err = d.runner.Sweep(t.Context()); err != nil || !slices.Contains(swept.Destroyed, sandbox) {
		t.Errorf("when it came back the sweep did %+v, %v", swept, err)
	}
	if s := d.agents["eu-1"].Status(sandbox); s != berth.SandboxGone {
		t.Errorf("the sandbox is %s", s)
	}
	if diff := cmp.Diff(map[berth.HostID]int{"eu-1": 0, "eu-2": 1}, d.used()); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestAPreservedSandboxOutlivesTheSilenceOfItsHost(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	e := environment(1, "1GB")
	e.Lifecycle.Preserve = true
	id := d.create(e, "sleep")
	d.drive(id, func(task string, _ int) bool { return task != "Follow" })
	d.down("eu-1", true)
	d.clock.Advance(berth.HostGrace + time.Second)
	if _, err := d.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	sb, err := d.records.FindSandbox(t.Context(), d.run(id).Sandbox)
	if err != nil || !sb.Preserved || sb.Status != berth.SandboxReady || d.run(id).Status != berth.RunFailed {
		t.Fatalf("the sandbox is %+v, %v", sb, err)
	}
	d.down("eu-1", false)
	d.beat("eu-1")
	if swept, err := d.runner.Sweep(t.Context()); err != nil || len(swept.Destroyed) > 0 {
		t.Errorf("the sweep did %+v, %v", swept, err)
	}
}

func TestARunOfAHostThatWasRemovedByForceIsLost(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	id := d.create(environment(1, "1GB"), "sleep")
	plane := control.Plane{Records: d.records, Secrets: d.secrets, Clock: d.clock}
	removed := false
	d.drive(id, func(task string, _ int) bool {
		if task == "Follow" && !removed {
			removed = true
			if err := plane.RemoveHost(t.Context(), "eu-1", true); err != nil {
				t.Error(err)
			}
			d.clock.Advance(time.Minute)
		}
		return true
	})
	run := d.run(id)
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonLost || !strings.Contains(run.Reason.Message, "host eu-1 was removed") {
		t.Errorf("it is %s, %+v", run.Status, run.Reason)
	}
}

func TestACancelledRunDoesNotWaitForItsHost(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.host("eu-1", 2, 8e9)
	id := d.create(environment(1, "1GB"), "sleep")
	d.drive(id, func(task string, _ int) bool { return task != "Follow" })
	d.down("eu-1", true)
	if err := d.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s, err := d.runner.Follow(t.Context(), runner.State{Run: id, Stage: "01-command"})
	if err != nil || s.Next != runner.NextAdvance {
		t.Fatalf("Follow() = %+v, %v", s, err)
	}
	if s, err = d.runner.Advance(t.Context(), s); err != nil || s.Next != runner.NextTeardown {
		t.Fatalf("Advance() = %+v, %v", s, err)
	}
	if _, err = d.runner.Finish(t.Context(), s); err != nil { // as Teardown's Catch does
		t.Fatal(err)
	}
	if run := d.run(id); run.Status != berth.RunCancelled {
		t.Errorf("it is %s", run.Status)
	}
	d.down("eu-1", false)
	if swept, err := d.runner.Sweep(t.Context()); err != nil || len(swept.Destroyed) != 1 {
		t.Errorf("the sweep did %+v, %v", swept, err)
	}
}

func TestAnAgentThatCannotBeArmedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.runner.FollowQuiet = 1
	d.host("eu-1", 2, 8e9)
	id := d.create(environment(1, "1GB"), "sleep")
	d.drive(id, func(task string, _ int) bool { return task != "Follow" })
	s := runner.State{Run: id, Stage: "01-command"}
	if err := d.runner.AwaitOutput(t.Context(), runner.Await{State: s, Token: "armed"}); err != nil {
		t.Fatal(err)
	}
	if len(d.machine.answered) > 0 || len(d.agents["eu-1"].Armings()) != 1 {
		t.Fatalf("answered %q, armed %v", d.machine.answered, d.agents["eu-1"].Armings())
	}
	d.down("eu-1", true)
	if err := d.runner.AwaitOutput(t.Context(), runner.Await{State: s, Token: "down"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"down"}, d.machine.answered); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
}
