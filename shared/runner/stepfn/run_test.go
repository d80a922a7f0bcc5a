package stepfn_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/runner/stepfn"
	"github.com/berth-dev/berth/shared/runner/stepfn/stepfntest"
	"github.com/berth-dev/berth/shared/spool"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// bench is the real machine, run.asl.json, on an emulator, with the real tasks
// over a record and a provider of this process.
type bench struct {
	t        *testing.T
	machine  stepfntest.Machine
	runner   *runner.Runner
	provider *runnertest.Provider
}

// onEmulators runs a test on a bench of each emulator.
func onEmulators(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	emulator.Each(t, func(t *testing.T, e *emulator.Emulator) { test(t, newBench(t, e)) })
}

func newBench(t *testing.T, e *emulator.Emulator) *bench {
	t.Helper()
	clock := berth.SystemClock{}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, provider: runnertest.NewProvider()}
	b.runner = &runner.Runner{
		Records: &records.Store{
			Table: table, Blobs: &runnertest.Blobs{}, Clock: clock, IDs: ids.New(clock), Notifier: &stream.Hub{},
		},
		Providers: control.NewProviders(b.provider), Secrets: &runnertest.Secrets{}, Clock: clock, Installation: "test",
		Logger: slog.New(slog.DiscardHandler), FollowQuiet: 50 * time.Millisecond, FollowTotal: 5 * time.Second,
	}
	b.machine = stepfntest.Deploy(t, e.Config(t), runner.Definition, b.runner.Tasks())
	b.runner.Orchestrator, err = stepfn.New(b.machine.Client, b.machine.ARN)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// record writes a run of a command without starting it.
func (b *bench) record(argv ...string) berth.RunID {
	b.t.Helper()
	def := berth.Definition{Environment: berth.LocalEnvironment(), Directory: "/dir", Command: argv}
	id := berth.RunID(b.runner.Records.IDs.NewID())
	_, err := b.runner.Records.CreateRun(b.t.Context(), records.Head{ID: id, CreatedBy: "test"}, def, runner.Plan(def), berth.Sandbox{
		ID: berth.SandboxID(b.runner.Records.IDs.NewID()), Environment: def.Environment.ID, Provider: def.Environment.Provider, Status: berth.SandboxCreating,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// start records a run of a command and starts its first execution.
func (b *bench) start(input func(berth.RunID) []byte, argv ...string) berth.RunID {
	b.t.Helper()
	id := b.record(argv...)
	if err := b.runner.Orchestrator.Start(b.t.Context(), runner.ExecutionID(id, 1), input(id)); err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) until(id berth.RunID, what string, holds func(records.Head) bool) records.Head {
	b.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		head, err := b.runner.Records.FindHead(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if holds(head) {
			return head
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("run %s is not %s but %+v", id, what, head)
		}
	}
}

func (b *bench) ended(id berth.RunID) berth.Run {
	b.t.Helper()
	b.until(id, "ended", func(h records.Head) bool { return h.Status.Ended() })
	run, err := b.runner.Records.FindRun(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// stdout is what is recorded of the run's command.
func (b *bench) stdout(id berth.RunID) string {
	b.t.Helper()
	var raw bytes.Buffer
	for {
		piece, err := b.runner.Records.ReadOutput(b.t.Context(), id, "01-command", int64(raw.Len()), berth.MaxOutputRead)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(piece) == 0 {
			break
		}
		raw.Write(piece)
	}
	frames, _, err := spool.Decode(raw.Bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range frames {
		out.Write(f.Data)
	}
	return out.String()
}

func TestARunGoesThroughStepFunctionsAsThroughTheInterpreter(t *testing.T) {
	onEmulators(t, aRunGoesThroughStepFunctionsAsThroughTheInterpreter)
}

func aRunGoesThroughStepFunctionsAsThroughTheInterpreter(t *testing.T, b *bench) {
	id := b.start(runner.Input, "echo", "hello")
	if run := b.ended(id); run.Status != berth.RunSucceeded || b.stdout(id) != "hello\n" {
		t.Errorf("run = %s, %+v, output %q", run.Status, run.Reason, b.stdout(id))
	}
	b.machine.Ended(t, runner.ExecutionID(id, 1))
	want := []string{
		"Admit", "IsThereRoom", "Provision", "IsItReady", "Advance", "IsThereMore", "Start", "Follow", "HasItEnded",
		"Advance", "IsThereMore", "Teardown", "Finish",
	}
	if diff := cmp.Diff(want, b.machine.Path(t, runner.ExecutionID(id, 1))); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestAQuietCommandIsAwaitedByTokenUntilANudge(t *testing.T) {
	onEmulators(t, aQuietCommandIsAwaitedByTokenUntilANudge)
}

func aQuietCommandIsAwaitedByTokenUntilANudge(t *testing.T, b *bench) {
	speak := make(chan struct{})
	b.provider.Programs["shy"] = func(p *runnertest.Process) int {
		<-speak
		p.Write(berth.Stdout, []byte("at last\n"))
		return 3
	}
	once := sync.OnceFunc(func() { close(speak) })
	defer once()
	id := b.start(runner.Input, "shy")
	b.until(id, "waiting for output", func(h records.Head) bool { return h.Token != "" && len(b.provider.Armings()) > 0 })
	once()
	if err := b.runner.Nudge(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if run := b.ended(id); run.Status != berth.RunFailed || run.Exit == nil || run.Exit.Code != 3 || b.stdout(id) != "at last\n" {
		t.Errorf("run = %s, %+v, exit %+v, output %q", run.Status, run.Reason, run.Exit, b.stdout(id))
	}
	b.machine.Ended(t, runner.ExecutionID(id, 1))
	if path := b.machine.Path(t, runner.ExecutionID(id, 1)); !slices.Contains(path, "AwaitOutput") {
		t.Errorf("it went through %v", path)
	}
	if err := b.runner.Nudge(t.Context(), id); err != nil {
		t.Errorf("a nudge too late = %v", err)
	}
}

func TestACancelWakesAWaitingExecution(t *testing.T) { onEmulators(t, aCancelWakesAWaitingExecution) }

func aCancelWakesAWaitingExecution(t *testing.T, b *bench) {
	id := b.start(runner.Input, "sleep")
	b.until(id, "waiting for output", func(h records.Head) bool { return h.Token != "" })
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if run := b.ended(id); run.Status != berth.RunCancelled {
		t.Errorf("run = %s, %+v", run.Status, run.Reason)
	}
	if x := b.machine.Ended(t, runner.ExecutionID(id, 1)); x.Status != "SUCCEEDED" {
		t.Errorf("the execution ended %s", x.Status)
	}
}

func TestALongRunIsContinuedByItsNextExecution(t *testing.T) {
	onEmulators(t, aLongRunIsContinuedByItsNextExecution)
}

func aLongRunIsContinuedByItsNextExecution(t *testing.T, b *bench) {
	finish := make(chan struct{})
	b.provider.Programs["long"] = func(p *runnertest.Process) int {
		p.Write(berth.Stdout, []byte("begun\n"))
		<-finish
		p.Write(berth.Stdout, []byte("done\n"))
		return 0
	}
	once := sync.OnceFunc(func() { close(finish) })
	defer once()
	// As if this execution had gone round almost as often as one may.
	late := func(id berth.RunID) []byte {
		return []byte(`{"run":"` + string(id) + `","wait_seconds":0,"polls":0,"turns":999}`)
	}
	id := b.start(late, "long")
	b.until(id, "in its second execution", func(h records.Head) bool { return h.Execution == 2 })
	b.machine.Ended(t, runner.ExecutionID(id, 1))
	once()
	if err := b.runner.Nudge(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if run := b.ended(id); run.Status != berth.RunSucceeded || b.stdout(id) != "begun\ndone\n" {
		t.Errorf("run = %s, %+v, output %q", run.Status, run.Reason, b.stdout(id))
	}
	first, second := b.machine.Path(t, runner.ExecutionID(id, 1)), b.machine.Path(t, runner.ExecutionID(id, 2))
	if first[len(first)-1] != "Continue" || slices.Contains(second, "Provision") {
		t.Errorf("the executions went through %v and %v", first, second)
	}
}

func TestAFailureThatNoRetryGetsOverEndsTheRunInPlainWords(t *testing.T) {
	onEmulators(t, aFailureThatNoRetryGetsOverEndsTheRunInPlainWords)
}

func aFailureThatNoRetryGetsOverEndsTheRunInPlainWords(t *testing.T, b *bench) {
	b.provider.Fail("Provision", errors.New("the provider is in two minds"))
	id := b.start(runner.Input, "true")
	run := b.ended(id)
	if run.Status != berth.RunFailed || run.Reason == nil || !strings.HasSuffix(run.Reason.Message, "the provider is in two minds") || strings.Contains(run.Reason.Message, "{") {
		t.Errorf("run = %s, %+v", run.Status, run.Reason)
	}
	b.machine.Ended(t, runner.ExecutionID(id, 1))
	want := []string{"Admit", "IsThereRoom", "Provision", "Teardown", "Finish"}
	if diff := cmp.Diff(want, b.machine.Path(t, runner.ExecutionID(id, 1))); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}
