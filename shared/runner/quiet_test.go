package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// safetyTimer is how long AwaitOutput waits for an answer at most.
const safetyTimer = 60 * time.Second

// following counts the calls of Follow that are going on.
func following(now *atomic.Int64) option {
	return func(_ *runner.Runner, tasks map[string]asl.Task) {
		follow := tasks["Follow"]
		tasks["Follow"] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			now.Add(1)
			defer now.Add(-1)
			return follow(ctx, input)
		}
	}
}

// nudging is a provider that keeps the word of an agent: once armed it nudges
// once, at once if there is output past the offset or an end already.
type nudging struct {
	*runnertest.Provider
	bench *bench
	run   atomic.Value // berth.RunID
	// before is called with each arming, before it counts.
	before func()
}

func (n *nudging) Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error {
	if n.before != nil {
		n.before()
	}
	if err := n.Provider.Arm(ctx, ref, id, offset); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		out, err := n.ReadOutput(ctx, ref, id, offset, 1, patience)
		if err == nil && (out.Ended || len(out.Bytes) > 0) {
			_ = n.bench.runner.Nudge(ctx, n.run.Load().(berth.RunID)) // the table is closed when the test is over
		}
	}()
	return nil
}

func newNudging(t *testing.T, options ...option) *nudging {
	b := newBench(t, berth.SystemClock{}, append(options, attached(20*time.Millisecond))...)
	n := &nudging{Provider: b.provider, bench: b}
	b.runner.Providers = providers{n}
	return n
}

// begin starts a run of a command.
func (n *nudging) begin(argv ...string) berth.RunID {
	id := n.bench.record(definition(argv...))
	n.run.Store(id)
	n.bench.start(id)
	return id
}

func TestNoFollowRunsWhileACommandIsQuietAndItsEndIsSeenBeforeTheTimer(t *testing.T) {
	t.Parallel()
	var follows atomic.Int64
	n := newNudging(t, following(&follows))
	finish := make(chan struct{})
	n.Programs["quiet"] = func(*runnertest.Process) int { <-finish; return 4 }
	id := n.begin("quiet")
	n.bench.until(id, "awaited", func(h records.Head) bool { return h.Token != "" && len(n.Armings()) == 1 })
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // 25 times the quiet that ends a Follow
		if now := follows.Load(); now != 0 {
			t.Fatalf("%d Follows run while the command is quiet", now)
		}
	}
	began := time.Now()
	close(finish)
	run := n.bench.ended(id)
	if run.Exit == nil || run.Exit.Code != 4 || len(n.Armings()) != 1 {
		t.Errorf("the run ended %s with %+v after %d armings", run.Status, run.Exit, len(n.Armings()))
	}
	if took := time.Since(began); took >= safetyTimer {
		t.Errorf("its end was seen after %v, the timer's %v", took, safetyTimer)
	}
}

func TestAnExitBetweenTheLastReadAndTheArmingIsNotMissed(t *testing.T) {
	t.Parallel()
	n := newNudging(t)
	finish := make(chan struct{})
	n.Programs["quiet"] = func(p *runnertest.Process) int {
		<-finish
		p.Write(berth.Stdout, []byte("last words\n"))
		return 0
	}
	ended := false
	n.before = func() { // Follow has read what there was; nobody is armed yet
		if ended {
			return
		}
		ended = true
		close(finish)
		ref := berth.SandboxRef{ID: n.Specs()[0].ID}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if c, err := n.DescribeCommand(t.Context(), ref, "stage-01-command"); err == nil && c.Exit != nil {
				return
			}
		}
		t.Error("the command has not ended")
	}
	began := time.Now()
	id := n.begin("quiet")
	run := n.bench.ended(id)
	if out, _, _ := n.bench.output(id, commandStage); run.Status != berth.RunSucceeded || out != "last words\n" {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
	if took := time.Since(began); took >= safetyTimer {
		t.Errorf("its end was seen after %v, by the timer", took)
	}
}

func TestACommandThatIsQuietForTwentyTimersSucceeds(t *testing.T) {
	t.Parallel()
	const faster = 600
	// Nobody nudges: each nudge is lost, and the timer alone goes on.
	b := newBench(t, runnertest.NewHurriedClock(faster), attached(20*time.Millisecond))
	finish := make(chan struct{})
	b.provider.Programs["quiet"] = func(p *runnertest.Process) int {
		<-finish
		p.Write(berth.Stdout, []byte("done\n"))
		return 0
	}
	began := time.Now()
	id := b.create(definition("quiet"))
	b.until(id, "awaited for the twenty-first time", func(records.Head) bool { return len(b.provider.Armings()) > 20 })
	if took := time.Since(began); took < 20*safetyTimer/faster {
		t.Errorf("twenty timers were over in %v: something else ended them", took*faster)
	}
	close(finish)
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "done\n" {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
}

func TestOneRunOverThreeExecutionsIsOneRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{}, func(r *runner.Runner, _ map[string]asl.Task) {
		r.MaxTurns, r.FollowTotal = 10, 2*time.Millisecond
	})
	go1, go2 := make(chan struct{}), make(chan struct{})
	b.provider.Programs["long"] = func(p *runnertest.Process) int {
		p.Write(berth.Stdout, []byte("one "))
		<-go1
		p.Write(berth.Stdout, []byte("two "))
		<-go2
		p.Write(berth.Stdout, []byte("three"))
		return 0
	}
	id := b.create(definition("long"))
	b.until(id, "in its second execution", func(h records.Head) bool { return h.Execution >= 2 })
	close(go1)
	b.until(id, "in its third execution", func(h records.Head) bool { return h.Execution >= 3 })
	close(go2)
	run := b.ended(id)
	if out, _, exit := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "one two three" || exit == nil {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
	story := map[string]int{}
	for _, e := range b.events(id) {
		if e.Kind != berth.EventOutput {
			story[strings.TrimSpace(string(e.Kind)+" "+e.Status)]++
		}
	}
	want := map[string]int{
		"run.status submitted": 1, "run.status provisioning": 1, "sandbox.status creating": 1, "sandbox.status ready": 1, "run.status running": 1,
		"stage.started running": 1, "stage.ended succeeded": 1, "sandbox.status destroyed": 1, "run.status succeeded": 1,
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	head, err := b.records.FindHead(t.Context(), id)
	if err != nil || head.Restarts != 0 || b.provider.Calls("Provision") != 1 {
		t.Errorf("%d restarts, %v, %d sandboxes", head.Restarts, err, b.provider.Calls("Provision"))
	}
	for seq := 1; seq <= head.Execution; seq++ {
		x, err := b.machine.Describe(t.Context(), runner.ExecutionID(id, seq))
		if err != nil || x.Status != berth.ExecutionSucceeded {
			t.Errorf("execution %d is %s, %v", seq, x.Status, err)
		}
	}
}
