// Package asl drives state machines written in a subset of the Amazon States
// Language. Its state is in the table: after the process is killed, Resume goes
// on from the state that each execution was in.
//
// The subset, with JSONPath as query language: states Task, Choice, Wait, Pass,
// Succeed and Fail; of Task the fields InputPath, Parameters, ResultSelector,
// ResultPath, OutputPath, TimeoutSeconds, HeartbeatSeconds, Retry, Catch, and
// the resources of plain tasks and of lambda:invoke.waitForTaskToken; of Wait
// Seconds and SecondsPath; of Choice the operators of [rule]. Paths are `$` and
// names behind dots; the context object has Execution.Name, State.Name and
// Task.Token. There are no intrinsic functions. [Parse] refuses all else, so
// that a machine cannot mean one thing here and another on Step Functions.
package asl

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Task does the work of a Task state. It may be called again with the same
// input, also after it has succeeded: its effect must happen once. An error
// that is no [Error] has the name States.TaskFailed.
type Task func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)

// Error is a task's failure under a name that Retry and Catch can match.
type Error struct{ Name, Cause string }

func (e *Error) Error() string { return e.Name + ": " + e.Cause }

// MaxDataBytes is the most that an input, a state's output or a task's result
// has. It is below the 256 KB of Step Functions, so that what runs here runs there.
const MaxDataBytes = 90 * 1024

// Config is what an interpreter needs. All fields are required but Jitter and Entered.
type Config struct {
	// Definition is the state machine, with every substitution made.
	Definition []byte
	// Tasks are found by the Resource of a Task state, or by the FunctionName of
	// one that waits for a task token.
	Tasks  map[string]Task
	Table  berth.Table
	Clock  berth.Clock
	IDs    berth.IDs
	Logger *slog.Logger
	// Jitter picks a delay up to most; even chances unless set.
	Jitter func(most time.Duration) time.Duration
	// Entered is told of every state that an execution enters.
	Entered func(id berth.ExecutionID, state string)
}

// Interpreter drives executions of one machine. It implements berth.Orchestrator.
type Interpreter struct {
	config  Config
	machine *Machine
	tokens  tokens

	base   context.Context // of all drivers, as they outlive the calls that start them
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards driven and closed
	driven map[berth.ExecutionID]*execution
	closed bool
}

var _ berth.Orchestrator = (*Interpreter)(nil)

// New checks the definition and that every resource has a task; it starts
// nothing. Error: invalid with every problem.
func New(c Config) (*Interpreter, error) {
	m, err := Parse(c.Definition)
	if err != nil {
		return nil, err
	}
	var problems berth.Problems
	for name, st := range m.States {
		if st.Type == "Task" && c.Tasks[st.function()] == nil {
			problems.Addf(statePath(name), "there is no task for resource %s", st.function())
		}
	}
	if !problems.Empty() {
		return nil, berth.Invalid(problems.List())
	}
	if c.Jitter == nil {
		c.Jitter = func(most time.Duration) time.Duration { return rand.N(most + 1) }
	}
	base, cancel := context.WithCancel(context.Background())
	return &Interpreter{
		config: c, machine: m, base: base, cancel: cancel,
		driven: map[berth.ExecutionID]*execution{},
	}, nil
}

// Start begins an execution. Errors: too_large, malformed (input that is no
// JSON), unavailable.
func (i *Interpreter) Start(ctx context.Context, id berth.ExecutionID, input []byte) error {
	if len(input) > MaxDataBytes {
		return berth.Errorf(berth.CodeTooLarge, "the input of execution %s is %d bytes, the limit is %d", id, len(input), MaxDataBytes)
	}
	if !json.Valid(input) {
		return berth.Errorf(berth.CodeMalformed, "the input of execution %s is no JSON", id)
	}
	x := &execution{id: id, record: record{
		Status: berth.ExecutionRunning, State: i.machine.StartAt, Data: input, StartedAt: i.config.Clock.Now(),
	}}
	err := i.put(ctx, x)
	if berth.CodeOf(err) == berth.CodeStale {
		return nil
	}
	if err != nil {
		return berth.Wrap(err, "starting execution "+string(id))
	}
	return i.launch(x)
}

// Resume goes on with every execution that was running when the process ended.
func (i *Interpreter) Resume(ctx context.Context) error {
	return i.eachRecord(ctx, func(x *execution) error {
		if x.record.Status != berth.ExecutionRunning {
			return nil
		}
		return i.launch(x)
	})
}

// Stop aborts an execution and waits until its task has returned.
func (i *Interpreter) Stop(ctx context.Context, id berth.ExecutionID, cause string) error {
	i.mu.Lock()
	x := i.driven[id]
	i.mu.Unlock()
	if x != nil {
		x.cancel(stopped(cause))
		select {
		case <-x.done:
			return nil
		case <-ctx.Done():
			return berth.Errorf(berth.CodeTimedOut, "execution %s has not stopped yet", id)
		}
	}
	x, err := i.findRecord(ctx, id)
	if err != nil || x == nil || x.record.Status != berth.ExecutionRunning {
		return err
	}
	x.record.end(berth.ExecutionAborted, i.config.Clock.Now())
	x.record.Cause = cause
	return berth.Wrap(i.put(ctx, x), "stopping execution "+string(id))
}

// Describe returns status MISSING for an execution that is not known.
func (i *Interpreter) Describe(ctx context.Context, id berth.ExecutionID) (berth.Execution, error) {
	x, err := i.findRecord(ctx, id)
	if err != nil || x == nil {
		return berth.Execution{ID: id, Status: berth.ExecutionMissing}, err
	}
	return berth.Execution{
		ID: id, Status: x.record.Status, Error: x.record.Error, Cause: x.record.Cause,
		StartedAt: x.record.StartedAt, EndedAt: x.record.EndedAt,
	}, nil
}

// Output returns the output of an execution that SUCCEEDED, else nothing.
func (i *Interpreter) Output(ctx context.Context, id berth.ExecutionID) (json.RawMessage, error) {
	x, err := i.findRecord(ctx, id)
	if err != nil || x == nil || x.record.Status != berth.ExecutionSucceeded {
		return nil, err
	}
	return x.record.Data, nil
}

// Answer gives a waiting task its result. Error: malformed for what is no JSON.
func (i *Interpreter) Answer(_ context.Context, token string, output []byte) error {
	if !json.Valid(output) {
		return berth.Errorf(berth.CodeMalformed, "the answer is no JSON")
	}
	i.tokens.answer(token, output)
	return nil
}

// Close stops driving; the executions go on at the next Resume. It returns when
// every task has returned, or with ctx's error.
func (i *Interpreter) Close(ctx context.Context) error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.cancel()
	done := make(chan struct{})
	go func() { i.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopped is why a driver's context ended when somebody stopped its execution.
type stopped string

func (s stopped) Error() string { return string(s) }

func (i *Interpreter) launch(x *execution) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return berth.Errorf(berth.CodeUnavailable, "the server is ending; execution %s goes on when it starts again", x.id)
	case i.driven[x.id] != nil:
		return nil
	}
	ctx, cancel := context.WithCancelCause(i.base)
	x.cancel, x.done = cancel, make(chan struct{})
	i.driven[x.id] = x
	i.wg.Go(func() {
		defer func() {
			i.mu.Lock()
			delete(i.driven, x.id)
			i.mu.Unlock()
			cancel(nil)
			close(x.done)
		}()
		if err := i.drive(ctx, x); err != nil && !errors.Is(err, context.Canceled) {
			i.config.Logger.Error("execution is no longer driven", "execution", string(x.id), "error", err)
		}
	})
	return nil
}
