package asl_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/orchestratetest"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

const hurry = 20 // seconds of machines in these tests last 50 ms

func openTable(t *testing.T, clock berth.Clock) *sqlite.Table {
	t.Helper()
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "table.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

// path records the states that executions enter.
type path struct {
	mu     sync.Mutex // guards states
	states map[berth.ExecutionID][]string
}

func (p *path) entered(id berth.ExecutionID, state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states == nil {
		p.states = map[berth.ExecutionID][]string{}
	}
	p.states[id] = append(p.states[id], state)
}

func (p *path) of(id berth.ExecutionID) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.states[id]...)
}

func closeInterpreter(t *testing.T, i *asl.Interpreter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := i.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// ended waits until the execution is not running any more.
func ended(t *testing.T, i *asl.Interpreter, id berth.ExecutionID) berth.Execution {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		x, err := i.Describe(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if x.Status != berth.ExecutionRunning {
			return x
		}
	}
	t.Fatalf("execution %s has not ended", id)
	return berth.Execution{}
}

func TestTheInterpreterDrivesMachinesAsTheContractSays(t *testing.T) {
	t.Parallel()
	orchestratetest.Run(t, func(t *testing.T, c orchestratetest.Case) orchestratetest.Result {
		clock := runnertest.NewHurriedClock(hurry)
		var (
			p path
			i *asl.Interpreter
		)
		s := orchestratetest.NewScript(c, func(ctx context.Context, token string, output []byte) {
			if err := i.Answer(ctx, token, output); err != nil {
				t.Errorf("Answer() = %v", err)
			}
		})
		definition := c.Definition
		for name := range c.Tasks {
			definition = strings.ReplaceAll(definition, "${"+name+"}", name)
		}
		i, err := asl.New(asl.Config{
			Definition: []byte(definition), Tasks: s.Tasks(), Table: openTable(t, clock), Clock: clock,
			IDs: ids.New(clock), Logger: slog.New(slog.DiscardHandler), Entered: p.entered,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer closeInterpreter(t, i)
		const id = "the-execution"
		if err := i.Start(t.Context(), id, []byte(c.Input)); err != nil {
			t.Fatal(err)
		}
		x := ended(t, i, id)
		output, err := i.Output(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return orchestratetest.Result{
			Status: x.Status, Path: p.of(id), Output: string(output), Error: x.Error, Cause: x.Cause, Inputs: s.Inputs(),
		}
	})
}
