package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// delivery is one call of a task that a test lets go on step by step. A step is
// a call of the table or of the provider.
type delivery struct {
	t       *testing.T
	arrived chan struct{} // it is about to make a step
	grant   chan bool     // make it, or die before it
	done    chan struct{}
	dead    bool // read and written by the call alone

	state runner.State
	err   error
}

type deliveryKey struct{}

// step is where a delivery waits. Calls that are none go on.
func step(ctx context.Context) error {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return nil
	}
	if !d.dead {
		d.arrived <- struct{}{}
		d.dead = !<-d.grant
	}
	if d.dead {
		return runnertest.ErrKilled
	}
	return nil
}

// deliver begins a call, which then waits before its first step.
func deliver(t *testing.T, call func(context.Context) (runner.State, error)) *delivery {
	d := &delivery{t: t, arrived: make(chan struct{}), grant: make(chan bool), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.state, d.err = call(context.WithValue(t.Context(), deliveryKey{}, d))
	}()
	d.await()
	return d
}

// await waits for the next step and reports whether there is one.
func (d *delivery) await() bool {
	select {
	case <-d.arrived:
		return true
	case <-d.done:
		return false
	case <-time.After(patience):
		d.t.Fatal("a task neither goes on nor ends")
		return false
	}
}

func (d *delivery) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// advance lets it make so many steps, and reports whether it made them all.
func (d *delivery) advance(steps int) bool {
	for range steps {
		if d.ended() {
			return false
		}
		d.grant <- true
		d.await()
	}
	return true
}

// finish lets it go on to its end.
func (d *delivery) finish() {
	for d.advance(1) {
	}
}

// kill ends it before its next step.
func (d *delivery) kill() {
	if !d.ended() {
		d.grant <- false
		<-d.done
	}
}

// steppedTable and steppedProvider wait before each step.
type steppedTable struct{ berth.Table }

func (s steppedTable) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	if err := step(ctx); err != nil {
		return berth.Item{}, err
	}
	return s.Table.Get(ctx, pk, sk)
}

func (s steppedTable) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	if err := step(ctx); err != nil {
		return berth.Page{}, err
	}
	return s.Table.Query(ctx, q)
}

func (s steppedTable) Put(ctx context.Context, item berth.Item) (int64, error) {
	if err := step(ctx); err != nil {
		return 0, err
	}
	return s.Table.Put(ctx, item)
}

func (s steppedTable) Delete(ctx context.Context, pk, sk string, version int64) error {
	if err := step(ctx); err != nil {
		return err
	}
	return s.Table.Delete(ctx, pk, sk, version)
}

func (s steppedTable) Transact(ctx context.Context, writes []berth.Write) error {
	if err := step(ctx); err != nil {
		return err
	}
	return s.Table.Transact(ctx, writes)
}

type steppedProvider struct{ *runnertest.Provider }

func (s steppedProvider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := step(ctx); err != nil {
		return berth.SandboxState{}, err
	}
	return s.Provider.Provision(ctx, spec)
}

func (s steppedProvider) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	if err := step(ctx); err != nil {
		return err
	}
	return s.Provider.StartCommand(ctx, ref, spec)
}

// ReadOutput gives one frame at a time.
func (s steppedProvider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, _ int, wait time.Duration) (berth.Output, error) {
	if err := step(ctx); err != nil {
		return berth.Output{}, err
	}
	return s.Provider.ReadOutput(ctx, ref, id, offset, 1, wait)
}

func (s steppedProvider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	if err := step(ctx); err != nil {
		return err
	}
	return s.Provider.Destroy(ctx, ref)
}

// stepped is a bench whose runs are driven by hand.
type stepped struct {
	*bench
	t *testing.T
}

func newStepped(t *testing.T) stepped {
	b := newBench(t, berth.SystemClock{})
	b.records.Table = steppedTable{b.table}
	b.runner.Providers = providers{steppedProvider{b.provider}}
	return stepped{b, t}
}

type taskFunc func(context.Context, runner.State) (runner.State, error)

func (s stepped) task(name string) taskFunc {
	return map[string]taskFunc{
		"Admit": s.runner.Admit, "Provision": s.runner.Provision, "Advance": s.runner.Advance, "Start": s.runner.Start,
		"Follow": s.runner.Follow, "Teardown": s.runner.Teardown, "Finish": s.runner.Finish,
	}[name]
}

// after is where the machine goes behind a task; empty is its end.
func after(name string, state runner.State) string {
	switch name {
	case "Start":
		return "Follow"
	case "Teardown":
		return "Finish"
	case "Finish":
		return ""
	}
	return map[runner.Next]string{
		runner.NextProvision: "Provision", runner.NextAdvance: "Advance", runner.NextStart: "Start",
		runner.NextTeardown: "Teardown", runner.NextFollow: "Follow",
	}[state.Next]
}

// place is a task on the way of a run, by its position.
type place struct {
	position int
	name     string
}

// places are each task once, where most happens; of those that come for each
// stage the second, for a stage is behind it and one is not.
var places = []place{{0, "Admit"}, {1, "Provision"}, {5, "Advance"}, {6, "Start"}, {7, "Follow"}, {9, "Teardown"}, {10, "Finish"}}

// drive brings a run of two stages to its end. The task at a place is left to
// meddle, which returns how the machine goes on.
func (s stepped) drive(at place, meddle func(call taskFunc, state runner.State) runner.State) berth.Run {
	s.t.Helper()
	def := definition("count", "2")
	def.Prepare = []berth.Step{{Command: []string{"echo", "prepared"}}}
	id := s.record(def)
	state, name := runner.State{Run: id}, "Admit"
	for position := 0; name != ""; position++ {
		if position > 30 {
			s.t.Fatalf("the run is not over after %d tasks", position)
		}
		if name == "Follow" {
			s.allSaid(id, state)
		}
		if position == at.position {
			if name != at.name {
				s.t.Fatalf("the task at %d is %s, not %s", position, name, at.name)
			}
			state = meddle(s.task(name), state)
		} else {
			state = s.try(s.task(name), state)
		}
		name = after(name, state)
	}
	run, err := s.records.FindRun(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// try calls a task as the machine does, again after what it retries.
func (s stepped) try(call taskFunc, state runner.State) runner.State {
	s.t.Helper()
	for range 3 {
		next, err := call(s.t.Context(), state)
		if err == nil {
			return next
		}
		if name := runner.ErrorName(err); name != "Berth.Unavailable" {
			s.t.Fatalf("the task fails with %s, which is not retried: %v", name, err)
		}
	}
	s.t.Fatal("the task fails again and again")
	return state
}

// allSaid waits until a stage's command has ended, if it has begun.
func (s stepped) allSaid(id berth.RunID, state runner.State) {
	s.t.Helper()
	head, err := s.records.FindHead(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
		c, err := s.provider.DescribeCommand(s.t.Context(), berth.SandboxRef{ID: head.Sandbox}, berth.CommandID("stage-"+string(state.Stage)))
		if err != nil || c.Exit != nil {
			return
		}
	}
	s.t.Fatalf("the command of %s does not end", state.Stage)
}

// right checks that a run went as if nothing had happened, each thing once.
func (s stepped) right(when string, run berth.Run) {
	s.t.Helper()
	if run.Status != berth.RunSucceeded {
		s.t.Errorf("%s: the run ended %s because of %+v", when, run.Status, run.Reason)
	}
	for stage, want := range map[berth.StageID]string{"01-prepare": "prepared\n", "02-command": "1\n2\n"} {
		if out, _, exit := s.output(run.ID, stage); out != want || exit == nil {
			s.t.Errorf("%s: %s said %q and ended with %+v", when, stage, out, exit)
		}
	}
	seen := map[string]bool{}
	for _, e := range s.events(run.ID) {
		what := fmt.Sprint(e.Kind, " ", e.Stage, " ", e.Status)
		if e.Kind != berth.EventOutput && seen[what] {
			s.t.Errorf("%s: %q happened twice", when, what)
		}
		seen[what] = true
	}
	s.nothingLeft(when, run)
}

func (s stepped) nothingLeft(when string, run berth.Run) {
	s.t.Helper()
	made := map[berth.SandboxID]bool{}
	for _, spec := range s.provider.Specs() {
		if spec.Run == run.ID {
			made[spec.ID] = true
		}
	}
	if len(made) > 1 {
		s.t.Errorf("%s: %d sandboxes were made", when, len(made))
	}
	sb, err := s.records.FindSandbox(s.t.Context(), run.Sandbox)
	if got := s.provider.Status(run.Sandbox); got != berth.SandboxGone || err != nil || sb.Status != berth.SandboxDestroyed {
		s.t.Errorf("%s: the sandbox is %s, and recorded as %s, %v", when, got, sb.Status, err)
	}
}

// strides are how far apart the moments are that a test tries.
func stride() int {
	if testing.Short() {
		return 3
	}
	return 1
}

func TestTwoDeliveriesInterleavedAtEveryStepHaveOneEffect(t *testing.T) {
	t.Parallel()
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s := newStepped(t)
			for i, more := 0, true; more; i++ {
				// The one makes i steps, the other j; then the one ends, then the other.
				for j, further := 0, true; further; j += stride() {
					run := s.drive(at, func(call taskFunc, state runner.State) runner.State {
						the := func(ctx context.Context) (runner.State, error) { return call(ctx, state) }
						one := deliver(t, the)
						more = one.advance(i)
						other := deliver(t, the)
						further = other.advance(j)
						one.finish()
						other.finish()
						if one.err != nil {
							return s.try(call, state)
						}
						return one.state
					})
					s.right(fmt.Sprintf("%d steps beside %d", i, j), run)
				}
			}
		})
	}
}

func TestATaskKilledBetweenAnyTwoStepsIsMadeUpForByTheNext(t *testing.T) {
	t.Parallel()
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s := newStepped(t)
			for i, more := 0, true; more; i++ {
				run := s.drive(at, func(call taskFunc, state runner.State) runner.State {
					d := deliver(t, func(ctx context.Context) (runner.State, error) { return call(ctx, state) })
					more = d.advance(i)
					d.kill()
					return s.try(call, state)
				})
				s.right(fmt.Sprintf("killed after %d steps", i), run)
			}
		})
	}
}

func TestACancelBetweenAnyTwoStepsEndsTheRunAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s := newStepped(t)
			cancelled := 0
			for i, more := 0, true; more; i++ {
				var refused error
				run := s.drive(at, func(call taskFunc, state runner.State) runner.State {
					d := deliver(t, func(ctx context.Context) (runner.State, error) { return call(ctx, state) })
					more = d.advance(i)
					refused = s.runner.Cancel(t.Context(), state.Run)
					d.finish()
					if d.err != nil {
						return s.try(call, state)
					}
					return d.state
				})
				when := fmt.Sprintf("cancelled after %d steps", i)
				if refused != nil && berth.CodeOf(refused) != berth.CodeConflict {
					t.Errorf("%s: Cancel = %v", when, refused)
				}
				want := berth.RunSucceeded // that was decided before
				if run.CancelRequested {
					want = berth.RunCancelled
					cancelled++
				}
				if run.Status != want || run.CancelRequested && refused != nil {
					t.Errorf("%s (%v): the run ended %s because of %+v", when, refused, run.Status, run.Reason)
				}
				if err := s.runner.Cancel(t.Context(), run.ID); berth.CodeOf(err) != berth.CodeConflict {
					t.Errorf("%s: Cancel of the ended run = %v, want conflict", when, err)
				}
				for _, stage := range run.Stages {
					if !stage.Status.Ended() {
						t.Errorf("%s: stage %s is %s", when, stage.ID, stage.Status)
					}
				}
				s.nothingLeft(when, run)
			}
			if early := at.position < 8; early != (cancelled > 0) {
				t.Errorf("%d runs were cancelled", cancelled)
			}
		})
	}
}
