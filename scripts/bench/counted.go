package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// tally is what a run costs on AWS, counted.
type tally struct {
	// Transitions are the states that were entered, tries again among them.
	Transitions int
	// StateBytes are those of all tasks' inputs, LargestState of the largest.
	StateBytes, LargestState int
	Tasks                    int
	// Written and Read are DynamoDB's units.
	Written, Read float64
	Blobs         int
}

// onAWS are the times of a Follow as functions have them.
func onAWS(r *runner.Runner) {
	r.FollowQuiet, r.FollowTotal, r.FlushEvery = 5*time.Second, 50*time.Second, time.Second
}

// countRun drives a run by the machine of Step Functions and its tasks, in the
// interpreter, and counts.
func countRun(ctx context.Context, argv ...string) (t tally, err error) {
	dir, err := os.MkdirTemp("", "berth-bench-*")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	clock := berth.SystemClock{}
	table, err := sqlite.Open(ctx, filepath.Join(dir, "berth.db"), clock)
	if err != nil {
		return t, err
	}
	defer table.Close()
	meter, blobs, provider := newMetered(table), &runnertest.Blobs{}, runnertest.NewProvider()
	quiet := slog.New(slog.DiscardHandler)
	r := &runner.Runner{
		Records:   &records.Store{Table: meter, Blobs: blobs, Clock: clock, IDs: ids.New(clock), Notifier: &stream.Hub{}},
		Providers: control.NewProviders(provider), Secrets: &runnertest.Secrets{}, Clock: clock, Installation: "bench", Logger: quiet,
	}
	onAWS(r)
	var mu sync.Mutex // guards t
	tasks := r.Tasks()
	for name, task := range tasks {
		tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			t.Tasks++
			t.StateBytes += len(input)
			t.LargestState = max(t.LargestState, len(input))
			mu.Unlock()
			return task(ctx, input)
		}
	}
	definition, err := runner.Definition(nil)
	if err != nil {
		return t, err
	}
	// The state of executions is Step Functions' own there: it is not metered.
	machine, err := asl.New(asl.Config{
		Definition: definition, Tasks: tasks, Table: table, Clock: clock, IDs: ids.New(clock), Logger: quiet,
		Entered: func(berth.ExecutionID, string) {
			mu.Lock()
			t.Transitions++
			mu.Unlock()
		},
	})
	if err != nil {
		return t, err
	}
	defer func() { _ = machine.Close(context.WithoutCancel(ctx)) }()
	r.Orchestrator = machine
	if err := runToEnd(ctx, r, argv); err != nil {
		return t, err
	}
	mu.Lock()
	defer mu.Unlock()
	t.Written, t.Read = meter.count()
	t.Blobs = blobs.Len()
	return t, nil
}

func runToEnd(ctx context.Context, r *runner.Runner, argv []string) error {
	def := berth.Definition{Environment: berth.LocalEnvironment(), Directory: "/dir", Command: argv}
	id := berth.RunID(r.Records.IDs.NewID())
	_, err := r.Records.CreateRun(ctx, records.Head{ID: id, CreatedBy: "bench"}, def, runner.Plan(def), berth.Sandbox{
		ID: berth.SandboxID(r.Records.IDs.NewID()), Environment: def.Environment.ID, Provider: def.Environment.Provider, Status: berth.SandboxCreating,
	})
	if err == nil {
		err = r.Orchestrator.Start(ctx, runner.ExecutionID(id, 1), runner.Input(id))
	}
	if err != nil {
		return err
	}
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		x, err := r.Orchestrator.Describe(ctx, runner.ExecutionID(id, 1))
		if err != nil {
			return err
		}
		if x.Status == berth.ExecutionRunning {
			continue
		}
		head, err := r.Records.FindHead(ctx, id)
		if err == nil && head.Status != berth.RunSucceeded {
			err = fmt.Errorf("the run is %s: %+v", head.Status, head.Reason)
		}
		return err
	}
	return fmt.Errorf("run %s does not end", id)
}

const (
	transitionBudget = 16
	unitBudget       = 2000
)

// benchTransitions counts a run of one stage.
func benchTransitions(ctx context.Context, _ plan, _ *server) (row, error) {
	r := row{what: "transitions of a run of one stage", anchor: "the budget", budget: 1}
	t, err := countRun(ctx, "true")
	r.ours, r.theirs, r.ratio = fmt.Sprint(t.Transitions), fmt.Sprint(transitionBudget), float64(t.Transitions)/transitionBudget
	r.note = fmt.Sprintf("%d bytes of state go into its %d tasks, %d at most into one; %.0f write units and %.0f read units of DynamoDB",
		t.StateBytes, t.Tasks, t.LargestState, t.Written, t.Read)
	return r, err
}

// benchUnits counts a stage of 100 MiB of output.
func benchUnits(ctx context.Context, _ plan, _ *server) (row, error) {
	r := row{what: "DynamoDB write units of a 100 MB stage", anchor: "the budget", budget: 1}
	t, err := countRun(ctx, "bytes", fmt.Sprint(100<<20))
	r.ours, r.theirs, r.ratio = fmt.Sprintf("%.0f", t.Written), fmt.Sprint(unitBudget), t.Written/unitBudget
	r.note = fmt.Sprintf("%d blobs in S3, %.0f read units", t.Blobs, t.Read)
	return r, err
}
