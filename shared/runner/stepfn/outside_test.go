package stepfn_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// arn is that of a run's first execution.
func (b *bench) arn(id berth.RunID) string {
	b.t.Helper()
	page, err := b.machine.Client.ListExecutions(b.t.Context(), &sfn.ListExecutionsInput{StateMachineArn: aws.String(b.machine.ARN)})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, x := range page.Executions {
		if aws.ToString(x.Name) == string(runner.ExecutionID(id, 1)) {
			return aws.ToString(x.ExecutionArn)
		}
	}
	b.t.Fatalf("there is no execution of run %s", id)
	return ""
}

func TestAnExecutionStoppedFromOutsideEndsItsRunAsCancelled(t *testing.T) {
	onEmulators(t, anExecutionStoppedFromOutsideEndsItsRunAsCancelled)
}

func anExecutionStoppedFromOutsideEndsItsRunAsCancelled(t *testing.T, b *bench) {
	id := b.start(runner.Input, "sleep")
	b.until(id, "waiting for output", func(h records.Head) bool { return h.Token != "" })
	_, err := b.machine.Client.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: aws.String(b.arn(id)), Cause: aws.String("somebody did")})
	if err != nil {
		t.Fatal(err)
	}
	b.machine.Ended(t, runner.ExecutionID(id, 1)) // the service shows a stop when it has come to it
	for range 2 {                                 // the rule on ended executions, and the clock
		if _, err := b.runner.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run := b.ended(id)
	if run.Status != berth.RunCancelled || run.Reason == nil || run.Reason.Code != berth.ReasonExecutionStopped {
		t.Errorf("the run ended %s because of %+v", run.Status, run.Reason)
	}
	if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone {
		t.Errorf("the sandbox is %s", got)
	}
}

func TestAnExecutionThatTheServiceDoesNotKnowIsStartedAgain(t *testing.T) {
	onEmulators(t, anExecutionThatTheServiceDoesNotKnowIsStartedAgain)
}

func anExecutionThatTheServiceDoesNotKnowIsStartedAgain(t *testing.T, b *bench) {
	id := b.record("echo", "late") // and whoever recorded it died before the start
	clock := runnertest.NewManualClock()
	sweeper := *b.runner
	sweeper.Clock = clock
	for range 2 {
		if _, err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.Advance(3 * time.Minute)
	}
	if run := b.ended(id); run.Status != berth.RunSucceeded || b.stdout(id) != "late\n" {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, b.stdout(id))
	}
	if head, err := b.runner.Records.FindHead(t.Context(), id); err != nil || head.Execution != 2 || head.Restarts != 1 {
		t.Errorf("execution %d after %d restarts, %v", head.Execution, head.Restarts, err)
	}
}

func TestOneRunOverThreeExecutionsIsOneRecord(t *testing.T) {
	onEmulators(t, oneRunOverThreeExecutionsIsOneRecord)
}

func oneRunOverThreeExecutionsIsOneRecord(t *testing.T, b *bench) {
	b.runner.MaxTurns, b.runner.FollowTotal = 2, 200*time.Millisecond
	gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
	open := []func(){sync.OnceFunc(func() { close(gates[0]) }), sync.OnceFunc(func() { close(gates[1]) })}
	defer open[0]()
	defer open[1]()
	b.provider.Programs["long"] = func(p *runnertest.Process) int {
		for i, gate := range gates {
			p.Write(berth.Stdout, []byte{byte('1' + i)})
			<-gate
		}
		p.Write(berth.Stdout, []byte("3"))
		return 0
	}
	id := b.start(runner.Input, "long")
	for i := range gates {
		// Each turn but the last waits for its token, and a nudge is what ends that.
		b.until(id, "in its next execution", func(h records.Head) bool {
			if err := b.runner.Nudge(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return h.Execution >= i+2
		})
		open[i]()
	}
	b.until(id, "ended", func(h records.Head) bool {
		if err := b.runner.Nudge(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return h.Status.Ended()
	})
	run := b.ended(id)
	if run.Status != berth.RunSucceeded || b.stdout(id) != "123" || b.provider.Calls("Provision") != 1 {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, b.stdout(id))
	}
	head, err := b.runner.Records.FindHead(t.Context(), id)
	if err != nil || head.Execution < 3 || head.Restarts != 0 {
		t.Fatalf("execution %d after %d restarts, %v", head.Execution, head.Restarts, err)
	}
	for seq := 1; seq < head.Execution; seq++ {
		b.machine.Ended(t, runner.ExecutionID(id, seq))
		if path := b.machine.Path(t, runner.ExecutionID(id, seq)); path[len(path)-1] != "Continue" || slices.Contains(path, "Teardown") {
			t.Errorf("execution %d went through %v", seq, path)
		}
	}
}
