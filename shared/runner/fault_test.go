package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// twoStages is a run with a prepare step, whose stages both say something.
func twoStages() berth.Definition {
	def := definition("count", "5")
	def.Prepare = []berth.Step{{Command: []string{"echo", "prepared"}}}
	return def
}

// checkTwoStages checks that a run of twoStages ended right and said everything once.
func (b *bench) checkTwoStages(t *testing.T, when string, run berth.Run) {
	t.Helper()
	if run.Status != berth.RunSucceeded {
		t.Errorf("%s: the run ended %s because of %+v", when, run.Status, run.Reason)
	}
	if out, _, _ := b.output(run.ID, "01-prepare"); out != "prepared\n" {
		t.Errorf("%s: the step said %q", when, out)
	}
	if out, _, exit := b.output(run.ID, "02-command"); out != "1\n2\n3\n4\n5\n" || exit == nil {
		t.Errorf("%s: the command said %q and ended with %+v", when, out, exit)
	}
	seen := map[string]int{}
	for _, e := range b.events(run.ID) {
		if e.Kind != berth.EventOutput {
			seen[fmt.Sprint(e.Kind, " ", e.Stage, " ", e.Status)]++
		}
	}
	for what, n := range seen {
		if n != 1 {
			t.Errorf("%s: %q happened %d times", when, what, n)
		}
	}
}

func TestEveryTaskDeliveredTwiceHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	twice := func(_ *runner.Runner, tasks map[string]asl.Task) {
		for name, task := range tasks {
			tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
				first, err := task(ctx, input)
				if err != nil {
					return nil, err
				}
				second, err := task(ctx, input)
				if err == nil && name != "Follow" && string(first) != string(second) {
					t.Errorf("%s answered %s, and then %s", name, first, second)
				}
				return second, err
			}
		}
	}
	b := newBench(t, berth.SystemClock{}, twice)
	b.checkTwoStages(t, "delivered twice", b.ended(b.create(twoStages())))
}

func TestKilledBetweenAnyTwoWritesARunEndsRightOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	for writes := 1; ; writes++ {
		id := b.record(twoStages())
		b.start(id)
		b.process.close(t) // one life ends right away, or wherever it is by then
		mortal := runnertest.NewMortalTable(b.table, writes)
		life := b.open(mortal)
		if err := life.machine.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		killed := true
		for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
			x, err := life.machine.Describe(t.Context(), runner.ExecutionID(id, 1))
			if err == nil && x.Status != berth.ExecutionRunning {
				killed = false
				break
			}
			if closed(mortal.Dead()) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the run neither ended nor died")
			}
		}
		life.close(t)
		b.process = b.open(b.table)
		if err := b.machine.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		when := fmt.Sprintf("killed after %d writes", writes)
		run := b.ended(id)
		b.checkTwoStages(t, when, run)
		if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone {
			t.Errorf("%s: the sandbox is %s", when, got)
		}
		if !killed {
			if writes < 10 {
				t.Errorf("a run ended after %d writes, which cannot be all", writes)
			}
			return
		}
		if writes > 100 {
			t.Fatal("a run of two stages needs more than 100 writes")
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestInterleavedFollowsLeaveOneGaplessLog(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.runner.FlushEvery = time.Millisecond
	const lines = 400
	id := b.record(definition("count", fmt.Sprint(lines), "1"))
	s := runner.State{Run: id, Stage: commandStage}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, task := range []func(context.Context, runner.State) (runner.State, error){b.runner.Admit, b.runner.Provision, b.runner.Start} {
		if _, err := task(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			out, err := b.runner.Follow(ctx, s)
			if err != nil || out.Next != runner.NextAdvance {
				t.Errorf("Follow() = %s, %v", out.Next, err)
			}
		})
	}
	wg.Wait()
	want := ""
	for i := range lines {
		want += fmt.Sprintln(i + 1)
	}
	out, _, exit := b.output(id, commandStage)
	if diff := cmp.Diff(want, out); diff != "" || exit == nil {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	ends := 0
	for _, e := range b.events(id) {
		if e.Kind == berth.EventStageEnded {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the stage ended %d times", ends)
	}
}

// attached is how Lambdas follow: for a short while.
func attached(quiet time.Duration) option {
	return func(r *runner.Runner, _ map[string]asl.Task) { r.FollowQuiet, r.FollowTotal = quiet, 10*quiet }
}

func TestAQuietCommandIsAwaitedUntilTheAgentNudges(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{}, attached(10*time.Millisecond))
	speak, spoken, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.provider.Programs["shy"] = func(p *runnertest.Process) int {
		<-speak
		p.Write(berth.Stdout, []byte("at last\n"))
		close(spoken)
		<-finish
		return 3
	}
	id := b.create(definition("shy"))
	waiting := func(h records.Head) bool { return h.Token != "" && len(b.provider.Armings()) > 0 }
	first := b.until(id, "waiting for output", waiting)
	if armed := b.provider.Armings()[0]; armed.Command != "stage-01-command" || armed.Sandbox != first.Sandbox {
		t.Errorf("armed for %+v", armed)
	}
	close(speak)
	<-spoken // an agent nudges after the command has spoken
	if err := b.runner.Nudge(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.until(id, "waiting again", func(h records.Head) bool {
		out, _, _ := b.output(id, commandStage)
		armings := b.provider.Armings()
		again := armings[len(armings)-1].Offset > armings[0].Offset
		return out == "at last\n" && h.Token != "" && h.Token != first.Token && again
	})
	close(finish)
	b.until(id, "ended", func(h records.Head) bool { // the exit may come a little after a nudge
		if err := b.runner.Nudge(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return h.Status.Ended()
	})
	for range 3 { // nudges are no-ops when nobody waits
		if err := b.runner.Nudge(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if run := b.ended(id); run.Exit == nil || run.Exit.Code != 3 {
		t.Errorf("run ended %s with %+v", run.Status, run.Exit)
	}
}

func TestATokenThatNobodyAnswersLeadsBackToFollow(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(200), attached(time.Second))
	finish := make(chan struct{})
	b.provider.Programs["shy"] = func(*runnertest.Process) int { <-finish; return 0 }
	id := b.create(definition("shy"))
	b.until(id, "waiting for the third time", func(records.Head) bool { return len(b.provider.Armings()) >= 3 })
	close(finish)
	if run := b.ended(id); run.Status != berth.RunSucceeded {
		t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
	}
}

// plain hides the optional powers of a provider.
type plain struct{ berth.Provider }

func TestAProviderThatCannotNudgeIsAskedNowAndThen(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(100), attached(time.Second))
	b.runner.Providers = providers{plain{b.provider}}
	finish := make(chan struct{})
	b.provider.Programs["shy"] = func(p *runnertest.Process) int { <-finish; p.Write(berth.Stdout, []byte("x")); return 0 }
	id := b.create(definition("shy"))
	b.until(id, "asked several times", func(records.Head) bool { return b.provider.Calls("ReadOutput") > 4 })
	close(finish)
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "x" {
		t.Errorf("run ended %s with %q", run.Status, out)
	}
	if n := len(b.provider.Armings()); n != 0 {
		t.Errorf("armed %d times", n)
	}
}

func TestALongRunGoesOnInTheNextExecution(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	finish := make(chan struct{})
	b.provider.Programs["shy"] = func(p *runnertest.Process) int {
		p.Write(berth.Stdout, []byte("one"))
		<-finish
		p.Write(berth.Stdout, []byte("two"))
		return 0
	}
	b.runner.FollowTotal = 5 * time.Millisecond
	id := b.record(definition("shy"))
	input, err := json.Marshal(runner.State{Run: id, Turns: 990}) // of 1000
	if err != nil {
		t.Fatal(err)
	}
	if err := b.machine.Start(t.Context(), runner.ExecutionID(id, 1), input); err != nil {
		t.Fatal(err)
	}
	b.until(id, "in its second execution", func(h records.Head) bool { return h.Execution == 2 })
	s := runner.State{Run: id, Execution: runner.ExecutionID(id, 1)}
	for range 2 { // the task is delivered again, later
		if _, err := b.runner.Continue(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	close(finish)
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "onetwo" {
		t.Errorf("run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
	head, err := b.records.FindHead(t.Context(), id)
	if err != nil || head.Execution != 2 || head.Restarts != 0 {
		t.Errorf("execution %d, %d restarts, %v", head.Execution, head.Restarts, err)
	}
}

func TestRunsQueueWhenThereIsNoRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t, runnertest.NewHurriedClock(200), func(r *runner.Runner, _ map[string]asl.Task) { r.MaxLiveRuns = 1 })
	finish := make(chan struct{})
	b.provider.Programs["hold"] = func(*runnertest.Process) int { <-finish; return 0 }
	first := b.create(definition("hold"))
	b.until(first, "running", func(h records.Head) bool { return h.Status == berth.RunRunning })
	second := b.create(definition("true"))
	b.until(second, "queued", func(h records.Head) bool { return h.Status == berth.RunQueued })
	close(finish)
	if run := b.ended(first); run.Status != berth.RunSucceeded {
		t.Errorf("the first ended %s", run.Status)
	}
	if run := b.ended(second); run.Status != berth.RunSucceeded {
		t.Errorf("the second ended %s", run.Status)
	}
}

// ahead records the first frame of what is read, before the reader can.
type ahead struct {
	*runnertest.Provider
	once   sync.Once
	record func(frame []byte)
}

func (a *ahead) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) { // the first read is to see the end
		if state, err := a.Provider.DescribeCommand(ctx, ref, id); err != nil || state.Exit != nil {
			break
		}
	}
	out, err := a.Provider.ReadOutput(ctx, ref, id, offset, limit, wait)
	if err == nil && out.Ended {
		a.once.Do(func() {
			first, err := a.Provider.ReadOutput(ctx, ref, id, 0, 1, 0)
			if err != nil {
				panic(err)
			}
			a.record(first.Bytes)
		})
	}
	return out, err
}

func TestTheLoserOfARaceGoesOnWhereTheWinnerIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	var id berth.RunID
	b.runner.Providers = providers{&ahead{Provider: b.provider, record: func(frame []byte) {
		done, err := b.records.AppendOutput(t.Context(), id, commandStage, 0, frame, nil)
		if err != nil || !done.Ours {
			t.Errorf("AppendOutput() = %+v, %v", done, err)
		}
	}}}
	id = b.record(definition("count", "20"))
	b.start(id)
	run := b.ended(id)
	want := ""
	for i := range 20 {
		want += fmt.Sprintln(i + 1)
	}
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != want {
		t.Errorf("run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
}

func TestALateContinueDoesNotTurnTheRunBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	id := b.record(definition("true"))
	if _, err := b.records.ChangeRun(t.Context(), id, func(c *records.Change) error { c.Head.Execution = 3; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.runner.Continue(t.Context(), runner.State{Run: id, Execution: runner.ExecutionID(id, 1)}); err != nil {
		t.Fatal(err)
	}
	if head, err := b.records.FindHead(t.Context(), id); err != nil || head.Execution != 3 {
		t.Errorf("the run is in execution %d, %v", head.Execution, err)
	}
	_, err := b.runner.Continue(t.Context(), runner.State{Run: id, Execution: "another-run-1"})
	if berth.CodeOf(err) != berth.CodeInternal {
		t.Errorf("Continue of another run's execution = %v", err)
	}
}

func TestAStartDeliveredAgainNeedsNoSecretThatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.secret("TOKEN", "canary-value", berth.SecretToken)
	def := definition("sleep")
	def.Environment.Env = map[string]string{"A": "{{ secrets.TOKEN }}"}
	id := b.record(def)
	s := runner.State{Run: id, Stage: commandStage}
	for _, task := range []func(context.Context, runner.State) (runner.State, error){b.runner.Admit, b.runner.Provision, b.runner.Start} {
		if _, err := task(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.records.DeleteSecret(t.Context(), "TOKEN"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.runner.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if head, err := b.records.FindHead(t.Context(), id); err != nil || head.Outcome != nil || head.Stage != commandStage {
		t.Errorf("the run is %+v, %v", head, err)
	}
}
