package asl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// runTask runs a Task state with its retries, until it has a result or is caught.
func (i *Interpreter) runTask(ctx context.Context, x *execution, name string, st *State, data any) (next string, out any, failure *Error) {
	tried := make([]int, len(st.Retry))
	for {
		out, failure := i.attempt(ctx, x, name, st, data)
		if failure == nil || ctx.Err() != nil {
			return st.Next, out, failure
		}
		pause, again := st.retryAfter(failure, tried, i.config.Jitter)
		if !again {
			return st.caught(failure, data)
		}
		i.config.Logger.Warn("task is tried again", "execution", string(x.id), "state", name, "error", failure.Name, "cause", failure.Cause)
		if i.config.Clock.Sleep(ctx, pause) != nil {
			return "", nil, failure
		}
	}
}

// attempt calls the task once and makes the state's output of its result.
func (i *Interpreter) attempt(ctx context.Context, x *execution, name string, st *State, data any) (any, *Error) {
	s := i.scopeOf(x, name, data)
	var answered <-chan json.RawMessage
	if st.waits() {
		token := string(x.id) + "." + i.config.IDs.NewID()
		s.context[contextTaskToken] = token
		answered = i.tokens.expect(token)
		defer i.tokens.forget(token)
	}
	input, failure := st.input(s)
	if failure != nil {
		return nil, failure
	}
	if st.waits() {
		object, _ := input.(map[string]any)
		input = object["Payload"]
	}
	result, failure := i.within(ctx, st, input, answered)
	if failure != nil {
		return nil, failure
	}
	if st.ResultSelector != nil {
		s.data = result
		if result, failure = s.fill(st.ResultSelector); failure != nil {
			return nil, failure
		}
	}
	return st.output(data, result)
}

// within calls the task, and waits for the answer to its token if it has one,
// no longer than the state allows.
func (i *Interpreter) within(ctx context.Context, st *State, input any, answered <-chan json.RawMessage) (any, *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	i.limit(ctx, cancel, st.TimeoutSeconds, &Error{errTimeout, fmt.Sprintf("the task took longer than %d s", st.TimeoutSeconds)})
	i.limit(ctx, cancel, st.heartbeat(), &Error{errHeartbeat, fmt.Sprintf("the task was silent for %d s", st.HeartbeatSeconds)})

	raw, err := i.call(ctx, st, input)
	if err == nil && answered != nil {
		select {
		case raw = <-answered:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		var late *Error
		if errors.As(context.Cause(ctx), &late) {
			return nil, late
		}
		return nil, failureOf(err)
	}
	if len(raw) > MaxDataBytes {
		return nil, &Error{errDataLimit, fmt.Sprintf("the result of a task is at most %d bytes", MaxDataBytes)}
	}
	result, err := decode(raw)
	if err != nil {
		return nil, &Error{errRuntime, "the result of the task is no JSON"}
	}
	return result, nil
}

// heartbeat is the longest silence of a task that waits for its token. Nothing
// sends heartbeats here, so it is a limit of its own.
func (st *State) heartbeat() int {
	if !st.waits() {
		return 0
	}
	return st.HeartbeatSeconds
}

// limit ends ctx with the failure after some seconds by the clock, or never for 0.
func (i *Interpreter) limit(ctx context.Context, cancel context.CancelCauseFunc, seconds int, failure *Error) {
	if seconds == 0 {
		return
	}
	i.wg.Go(func() {
		if i.config.Clock.Sleep(ctx, time.Duration(seconds)*time.Second) == nil {
			cancel(failure)
		}
	})
}

// call runs the task; a panic is a failure that nothing retries.
func (i *Interpreter) call(ctx context.Context, st *State, input any) (raw json.RawMessage, err error) {
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			i.config.Logger.Error("task panicked", "task", st.function(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = &Error{"Panic", "the task " + st.function() + " panicked"}
		}
	}()
	return i.config.Tasks[st.function()](ctx, encoded)
}
