package runner_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/spool"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// providers is a registry of one.
type providers struct{ provider berth.Provider }

func (p providers) Find(kind berth.ProviderKind) (berth.Provider, error) {
	if p.provider != nil && kind == p.provider.Kind() {
		return p.provider, nil
	}
	return nil, &berth.Error{Code: berth.CodeUnsupported, Message: "provider " + string(kind) + " is disabled", Remediation: "switch it on"}
}

func (p providers) All() []berth.Provider {
	if p.provider == nil {
		return nil
	}
	return []berth.Provider{p.provider}
}

// bench is a server under test. What lasts (table, blobs, secrets, sandboxes) is
// shared by all processes that are opened on it.
type bench struct {
	t        testing.TB
	clock    berth.Clock
	table    berth.Table
	blobs    *runnertest.Blobs
	secrets  *runnertest.Secrets
	provider *runnertest.Provider
	ids      berth.IDs
	*process
}

// process is one life of the server.
type process struct {
	records *records.Store
	runner  *runner.Runner
	machine *asl.Interpreter
	closed  bool

	mu   sync.Mutex // guards path
	path []string
}

type option func(*runner.Runner, map[string]asl.Task)

func newBench(t testing.TB, clock berth.Clock, options ...option) *bench {
	t.Helper()
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{
		t: t, clock: clock, table: table, blobs: &runnertest.Blobs{}, secrets: &runnertest.Secrets{},
		provider: runnertest.NewProvider(), ids: ids.New(clock),
	}
	b.process = b.open(table, options...)
	return b
}

// open starts a server process on a table.
func (b *bench) open(table berth.Table, options ...option) *process {
	b.t.Helper()
	p := &process{records: &records.Store{Table: table, Blobs: b.blobs, Clock: b.clock, IDs: b.ids, Notifier: &stream.Hub{}}}
	p.runner = &runner.Runner{
		Records: p.records, Providers: providers{b.provider}, Secrets: b.secrets, Clock: b.clock,
		Installation: "inst", Logger: slog.New(slog.DiscardHandler),
	}
	tasks := p.runner.Tasks()
	for _, o := range options {
		o(p.runner, tasks)
	}
	definition, err := runner.Definition(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	p.machine, err = asl.New(asl.Config{
		Definition: definition, Tasks: tasks, Table: table, Clock: b.clock, IDs: b.ids, Logger: slog.New(slog.DiscardHandler),
		Entered: func(id berth.ExecutionID, state string) {
			if len(options) == 0 { // the path is of interest where one run is alone
				p.mu.Lock()
				defer p.mu.Unlock()
				p.path = append(p.path, state)
			}
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	p.runner.Orchestrator = p.machine
	b.t.Cleanup(func() { p.close(b.t) })
	return p
}

// walked is the path of the run that is alone here.
func (p *process) walked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.path)
}

func (p *process) close(t testing.TB) {
	if p.closed {
		return
	}
	p.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.machine.Close(ctx); err != nil {
		t.Errorf("closing the interpreter: %v", err)
	}
}

// definition is a local run of a command.
func definition(argv ...string) berth.Definition {
	e := berth.LocalEnvironment()
	return berth.Definition{Environment: e, Directory: "/dir", Command: argv}
}

// record writes a run without starting it.
func (b *bench) record(def berth.Definition) berth.RunID {
	b.t.Helper()
	id := berth.RunID(b.ids.NewID())
	_, err := b.records.CreateRun(b.t.Context(), records.Head{ID: id, CreatedBy: "test"}, def, runner.Plan(def), berth.Sandbox{
		ID: berth.SandboxID(b.ids.NewID()), Environment: def.Environment.ID, Provider: def.Environment.Provider, Status: berth.SandboxCreating,
		KeptAfterRun: def.Environment.Lifecycle.Keeps(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// create records and starts a run.
func (b *bench) create(def berth.Definition) berth.RunID {
	b.t.Helper()
	id := b.record(def)
	b.start(id)
	return id
}

func (b *bench) start(id berth.RunID) {
	b.t.Helper()
	if err := b.machine.Start(b.t.Context(), runner.ExecutionID(id, 1), runner.Input(id)); err != nil {
		b.t.Fatal(err)
	}
}

const patience = 30 * time.Second

// until waits for a condition of a run.
func (b *bench) until(id berth.RunID, what string, holds func(records.Head) bool) records.Head {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		head, err := b.records.FindHead(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if holds(head) {
			return head
		}
	}
	head, err := b.records.FindHead(b.t.Context(), id)
	b.t.Fatalf("run %s is not %s: %+v, %v", id, what, head, err)
	return head
}

// ended waits for the end of a run and of its execution.
func (b *bench) ended(id berth.RunID) berth.Run {
	b.t.Helper()
	head := b.until(id, "ended", func(h records.Head) bool { return h.Status.Ended() })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		x, err := b.machine.Describe(b.t.Context(), runner.ExecutionID(id, head.Execution))
		if err != nil {
			b.t.Fatal(err)
		}
		if x.Status != berth.ExecutionRunning {
			break
		}
	}
	run, err := b.records.FindRun(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bench) events(id berth.RunID) []berth.Event {
	b.t.Helper()
	events, err := b.records.ListEvents(b.t.Context(), id, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			b.t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	return events
}

// output reads what is recorded of a stage and checks that its pieces fit
// together without a gap.
func (b *bench) output(id berth.RunID, stage berth.StageID) (stdout, stderr string, exit *berth.Exit) {
	b.t.Helper()
	var at int64
	for _, e := range b.events(id) {
		if e.Stage != stage || e.Output == nil {
			continue
		}
		if e.Output.From != at {
			b.t.Fatalf("a piece of %s begins at %d, the one before ended at %d", stage, e.Output.From, at)
		}
		at = e.Output.To
	}
	var raw bytes.Buffer
	for {
		piece, err := b.records.ReadOutput(b.t.Context(), id, stage, int64(raw.Len()), berth.MaxOutputRead)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(piece) == 0 {
			break
		}
		raw.Write(piece)
	}
	frames, exit, err := spool.Decode(raw.Bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	// While the command runs, more may have come since the events were read.
	if int64(raw.Len()) < at || exit != nil && !b.tells(id, stage, int64(raw.Len())) {
		b.t.Fatalf("%d bytes are recorded, the events tell of %d", raw.Len(), at)
	}
	var out, errs bytes.Buffer
	for _, f := range frames {
		if f.Stream == berth.Stdout {
			out.Write(f.Data)
		} else {
			errs.Write(f.Data)
		}
	}
	return out.String(), errs.String(), exit
}

// tells reports whether the events tell of output up to an offset.
func (b *bench) tells(id berth.RunID, stage berth.StageID, end int64) bool {
	b.t.Helper()
	for _, e := range b.events(id) {
		if e.Stage == stage && e.Output != nil && e.Output.To == end {
			return true
		}
	}
	return end == 0
}
