//go:build linux

package daytona_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/spool"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// registry has one provider.
type registry struct{ provider berth.Provider }

func (r registry) Find(berth.ProviderKind) (berth.Provider, error) { return r.provider, nil }
func (r registry) All() []berth.Provider                           { return []berth.Provider{r.provider} }

// plane is what drives runs: the state machine over a table.
type plane struct {
	records *records.Store
	runner  *runner.Runner
	machine *asl.Interpreter
	ids     berth.IDs
}

func newPlane(t testing.TB, provider berth.Provider) *plane {
	t.Helper()
	clock := berth.SystemClock{}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	p := &plane{ids: ids.New(clock)}
	p.records = &records.Store{Table: table, Blobs: &runnertest.Blobs{}, Clock: clock, IDs: p.ids, Notifier: &stream.Hub{}}
	p.runner = &runner.Runner{
		Records: p.records, Providers: registry{provider}, Secrets: &runnertest.Secrets{}, Clock: clock,
		Installation: installation, Logger: slog.New(slog.DiscardHandler),
	}
	definition, err := runner.Definition(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.machine, err = asl.New(asl.Config{
		Definition: definition, Tasks: p.runner.Tasks(), Table: table, Clock: clock, IDs: p.ids, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.runner.Orchestrator = p.machine
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = p.machine.Close(ctx)
	})
	return p
}

// start records and starts a run.
func (p *plane) start(ctx context.Context, def berth.Definition) (berth.RunID, error) {
	id := berth.RunID(p.ids.NewID())
	_, err := p.records.CreateRun(ctx, records.Head{ID: id, CreatedBy: "test"}, def, runner.Plan(def), berth.Sandbox{
		ID: berth.SandboxID(p.ids.NewID()), Environment: def.Environment.ID, Provider: def.Environment.Provider, Status: berth.SandboxCreating,
	})
	if err != nil {
		return id, err
	}
	return id, p.machine.Start(ctx, runner.ExecutionID(id, 1), runner.Input(id))
}

// ended waits for the end of a run.
func (p *plane) ended(ctx context.Context, id berth.RunID) (berth.Run, error) {
	for {
		run, err := p.records.FindRun(ctx, id)
		if err != nil || run.Status.Ended() {
			return run, err
		}
		if err := (berth.SystemClock{}).Sleep(ctx, 5*time.Millisecond); err != nil {
			return run, fmt.Errorf("run %s is %s: %w", id, run.Status, err)
		}
	}
}

// output reads what a stage of a run said.
func (p *plane) output(ctx context.Context, id berth.RunID, stage berth.StageID) (string, error) {
	var raw []byte
	for {
		piece, err := p.records.ReadOutput(ctx, id, stage, int64(len(raw)), berth.MaxOutputRead)
		if err != nil {
			return "", err
		}
		if len(piece) == 0 {
			break
		}
		raw = append(raw, piece...)
	}
	frames, _, err := spool.Decode(raw)
	var text strings.Builder
	for _, f := range frames {
		text.Write(f.Data)
	}
	return text.String(), err
}

const stormRuns = 100

// stormRun is one of the runs: what it does and how that ends.
type stormRun struct {
	script, output string
	code           int
	dockerfile     string
}

func stormRunOf(i int) stormRun {
	r := stormRun{script: fmt.Sprintf("for i in {1..40}; do echo run %d line $i; done; exit %d", i, i%3*7), code: i % 3 * 7}
	for line := range 40 {
		r.output += fmt.Sprintf("run %d line %d\n", i, line+1)
	}
	if i%2 == 0 {
		r.dockerfile = fmt.Sprintf("FROM debian:13\nRUN echo %d\n", i%50)
	}
	return r
}

func TestAHundredRunsGetThroughEveryFault(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred runs take a while; run without -short")
	}
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{
		StartTime: 20 * time.Millisecond, BuildTime: 50 * time.Millisecond, DeleteTime: 10 * time.Millisecond, RetryAfter: 20 * time.Millisecond,
		KillTrees: true,
	})
	s.AddSandbox("somebody's", map[string]string{"dev.berth.installation": "other"})
	c := config(t, s)
	c.Pace.Patience = 30 * time.Second
	p := open(t, c)
	plane := newPlane(t, p)
	s.SetFault(daytonatest.Randomly(20261130, 10, daytonatest.Faults...))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var mu sync.Mutex // guards failed
	var failed []string
	slots := make(chan struct{}, 8)
	var runs sync.WaitGroup
	for i := range stormRuns {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			if fault := stormOne(ctx, plane, stormRunOf(i)); fault != "" {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Sprintf("run %d: %s", i, fault))
			}
		})
	}
	runs.Wait()
	t.Logf("%d runs failed: %s", len(failed), strings.Join(failed, "\n"))
	for _, why := range failed {
		if strings.Contains(why, "WRONG") {
			t.Error(why)
		}
	}
	if len(failed) > stormRuns/20 {
		t.Errorf("%d of %d runs failed, want %d at most", len(failed), stormRuns, stormRuns/20)
	}
	checkSwept(t, s, p, plane)
	befallen := map[daytonatest.Fault]int{}
	for _, r := range s.Requests() {
		befallen[r.Fault]++
	}
	t.Logf("faults: %v", befallen)
	for _, f := range daytonatest.Faults {
		if befallen[f] == 0 {
			t.Errorf("no request met the fault %q", f)
		}
	}
}

// stormOne runs one and says what went wrong; WRONG is what may never happen.
func stormOne(ctx context.Context, plane *plane, r stormRun) string {
	def := berth.Definition{Environment: spec(nil).Environment, Script: r.script}
	if r.dockerfile != "" {
		def.Environment.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: r.dockerfile}
	}
	id, err := plane.start(ctx, def)
	if err != nil {
		return "WRONG: not started: " + err.Error()
	}
	run, err := plane.ended(ctx, id)
	switch {
	case err != nil:
		return "WRONG: " + err.Error()
	case run.Exit != nil && run.Exit.Reason == berth.ExitExited && run.Exit.Code != r.code:
		return fmt.Sprintf("WRONG: exit %+v, want %d", *run.Exit, r.code)
	case run.Exit == nil || run.Exit.Reason != berth.ExitExited:
		if run.Reason == nil || !namesItsFault(run.Reason.Message) {
			return fmt.Sprintf("WRONG: %s for a reason that names no fault: %+v", run.Status, run.Reason)
		}
		return run.Reason.Message
	case (run.Status == berth.RunSucceeded) != (r.code == 0):
		return "WRONG: status " + string(run.Status)
	}
	output, err := plane.output(ctx, id, "01-command")
	if err != nil || output != r.output {
		return fmt.Sprintf("WRONG: output %q, %v", output, err)
	}
	return ""
}

// namesItsFault knows the words that each fault has in a reason.
func namesItsFault(reason string) bool {
	for _, words := range []string{
		"429", "in progress", "answers 502", "HTML", "cannot be reached", "does not answer", "did not answer", "build failure", "not active", "not started",
		"relay did not begin", "upload to the sandbox was cut",
	} {
		if strings.Contains(reason, words) {
			return true
		}
	}
	return false
}

// checkSwept lets the sweeper work without faults and sees what is left.
func checkSwept(t *testing.T, s *daytonatest.Server, p *daytona.Provider, plane *plane) {
	t.Helper()
	s.SetFault(nil)
	if _, err := plane.runner.Sweep(t.Context()); err != nil {
		t.Errorf("Sweep: %v", err)
	}
	for _, row := range s.Sandboxes() {
		if row.Labels["dev.berth.installation"] == installation {
			t.Errorf("left: %+v", row)
		}
	}
	if len(s.Sandboxes()) != 1 {
		t.Errorf("the sandbox of somebody else is gone: %+v", s.Sandboxes())
	}
	for _, n := range s.Snapshots() {
		if n.State != "active" {
			t.Errorf("left: snapshot %+v", n)
		}
	}
	if list, err := p.List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
}
