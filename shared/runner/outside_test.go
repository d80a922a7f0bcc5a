package runner_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// gone checks that nothing of a run is left.
func (b *bench) gone(run berth.Run) {
	b.t.Helper()
	sb, err := b.records.FindSandbox(b.t.Context(), run.Sandbox)
	if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone || err != nil || sb.Status != berth.SandboxDestroyed {
		b.t.Errorf("the sandbox is %s, and recorded as %s, %v", got, sb.Status, err)
	}
	if live, err := b.records.HasLiveRuns(b.t.Context()); err != nil || live {
		b.t.Errorf("HasLiveRuns() = %v, %v", live, err)
	}
}

func TestAnExecutionStoppedFromOutsideEndsItsRunAsCancelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   option
		holds func(records.Head) bool
	}{
		"while a Follow is attached": {func(*runner.Runner, map[string]asl.Task) {}, func(h records.Head) bool { return h.Stage != "" }},
		"while output is awaited":    {attached(5 * time.Millisecond), func(h records.Head) bool { return h.Token != "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{}, c.set)
			id := b.create(definition("sleep"))
			b.until(id, "going on", c.holds)
			if err := b.machine.Stop(t.Context(), runner.ExecutionID(id, 1), "somebody did"); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the rule on ended executions, and the clock
				if _, err := b.runner.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			run := b.ended(id)
			if run.Status != berth.RunCancelled || run.Reason == nil || run.Reason.Code != berth.ReasonExecutionStopped || run.Stages[0].Status != berth.StageCancelled {
				t.Errorf("the run ended %s because of %+v, its stage %s", run.Status, run.Reason, run.Stages[0].Status)
			}
			b.gone(run)
		})
	}
}

// throttling is a DynamoDB that is asked too much.
type throttling struct{ dynamo.Client }

func (throttling) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

func (throttling) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

func (throttling) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

// throttled lets the table of one task, or of all, be asked too much while on is set.
func throttled(clock berth.Clock, on *atomic.Bool, only string) option {
	return func(r *runner.Runner, tasks map[string]asl.Task) {
		busy, store := *r, *r.Records
		store.Table = dynamo.New(throttling{}, "berth-prod", clock)
		busy.Records = &store
		for name, task := range busy.Tasks() {
			whole := tasks[name]
			tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
				if on.Load() && (only == "" || only == name) {
					return task(ctx, input)
				}
				return whole(ctx, input)
			}
		}
	}
}

func TestATableThatStaysThrottledIsTheReasonOfTheRunsEnd(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"Admit", "Provision", "Advance", "Start", "Follow"} {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			clock := runnertest.NewHurriedClock(2000)
			var on atomic.Bool
			on.Store(true)
			b := newBench(t, clock, throttled(clock, &on, task))
			run := b.ended(b.create(definition("true")))
			if run.Status != berth.RunFailed || run.Reason == nil || !strings.Contains(run.Reason.Message, "the table berth-prod is too busy") {
				t.Errorf("the run ended %s because of %+v", run.Status, run.Reason)
			}
			b.gone(run)
		})
	}
}

func TestARunWhoseWholeTableWasThrottledIsBroughtToItsEndLater(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(2000)
	var on atomic.Bool
	b := newBench(t, clock, throttled(clock, &on, ""))
	b.provider.Provisioned = func(berth.SandboxSpec, int, *berth.SandboxState) { on.Store(true) }
	id := b.create(definition("echo", "in the end"))
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		x, err := b.machine.Describe(t.Context(), runner.ExecutionID(id, 1))
		if err != nil {
			t.Fatal(err)
		}
		if x.Status == berth.ExecutionFailed {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the execution is %s", x.Status)
		}
	}
	b.provider.Provisioned = nil
	on.Store(false)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := b.runner.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if head, err := b.records.FindHead(t.Context(), id); err != nil || head.Restarts > 0 {
			break
		}
	}
	run := b.ended(id)
	if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || out != "in the end\n" {
		t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, out)
	}
	b.gone(run)
}

// either is a provider that can be changed for another.
type either struct {
	first, then berth.Provider
	changed     atomic.Bool
}

func (e *either) Find(berth.ProviderKind) (berth.Provider, error) {
	if e.changed.Load() {
		return e.then, nil
	}
	return e.first, nil
}

func (e *either) All() []berth.Provider {
	p, _ := e.Find("")
	return []berth.Provider{p}
}

func TestAHostWhoseCertificateChangedIsTheReasonAndLosesItsSandboxLater(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	joined := agentapi.FingerprintOf([]byte("the certificate that the host joined with"))
	host, err := remote.New(remote.Config{
		URL: server.URL, Fingerprint: joined, Token: "the-agents-token", Kind: berth.ProviderLocal, Installation: "inst",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	b := newBench(t, runnertest.NewHurriedClock(2000), attached(10*time.Millisecond))
	registry := &either{first: b.provider, then: host}
	b.runner.Providers = registry
	id := b.create(definition("sleep"))
	b.until(id, "going on", func(h records.Head) bool { return h.Stage != "" })
	registry.changed.Store(true)
	run := b.ended(id)
	if run.Status != berth.RunFailed || run.Reason == nil || !strings.Contains(run.Reason.Message, "the host's certificate changed") || !strings.Contains(run.Reason.Message, joined.String()) {
		t.Errorf("the run ended %s because of %+v", run.Status, run.Reason)
	}
	registry.changed.Store(false) // the host is itself again
	if _, err := b.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.gone(run)
}
