package asl_test

import (
	"context"
	"encoding/json"
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

// script plays the replies of a case.
type script struct {
	replies map[string][]orchestratetest.Reply
	answer  func(token, output string)

	mu     sync.Mutex // guards inputs
	inputs map[string][]string
}

func (s *script) task(name string) asl.Task {
	return func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		var tokened struct {
			Token string `json:"token"`
		}
		_ = json.Unmarshal(input, &tokened) // inputs without a token are no objects of this shape
		text := string(input)
		if tokened.Token != "" {
			text = strings.ReplaceAll(text, tokened.Token, "TOKEN")
		}
		s.mu.Lock()
		n := len(s.inputs[name])
		s.inputs[name] = append(s.inputs[name], text)
		s.mu.Unlock()
		reply := s.replies[name][min(n, len(s.replies[name])-1)]
		switch {
		case reply.Hang:
			<-ctx.Done()
			return nil, ctx.Err()
		case reply.Error != "":
			return nil, &asl.Error{Name: reply.Error, Cause: reply.Cause}
		case reply.Answer != "":
			s.answer(tokened.Token, reply.Answer)
		}
		return json.RawMessage(reply.Output), nil
	}
}

func TestTheInterpreterDrivesMachinesAsTheContractSays(t *testing.T) {
	t.Parallel()
	orchestratetest.Run(t, func(t *testing.T, c orchestratetest.Case) orchestratetest.Result {
		clock := runnertest.NewHurriedClock(hurry)
		var (
			p path
			i *asl.Interpreter
		)
		s := &script{replies: c.Tasks, inputs: map[string][]string{}}
		s.answer = func(token, output string) {
			if err := i.Answer(t.Context(), token, []byte(output)); err != nil {
				t.Errorf("Answer() = %v", err)
			}
		}
		definition, tasks := c.Definition, map[string]asl.Task{}
		for name := range c.Tasks {
			definition = strings.ReplaceAll(definition, "${"+name+"}", name)
			tasks[name] = s.task(name)
		}
		i, err := asl.New(asl.Config{
			Definition: []byte(definition), Tasks: tasks, Table: openTable(t, clock), Clock: clock,
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
			Status: x.Status, Path: p.of(id), Output: string(output), Error: x.Error, Cause: x.Cause, Inputs: s.inputs,
		}
	})
}
