package asl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// drive takes an execution from its present state to its end. It returns early,
// leaving the record as it is, when ctx ends because the process does.
func (i *Interpreter) drive(ctx context.Context, x *execution) error {
	name, data, err := x.record.State, any(nil), error(nil)
	if data, err = decode(x.record.Data); err != nil {
		return fmt.Errorf("decoding the data of execution %s: %w", x.id, err)
	}
	for recorded := true; name != ""; recorded = false {
		if i.config.Entered != nil {
			i.config.Entered(x.id, name)
		}
		st := i.machine.States[name]
		if st == nil { // the machine was changed by an update
			return i.end(ctx, x, berth.ExecutionFailed, nil, &Error{errRuntime, "there is no state " + name})
		}
		if !recorded || st.Type == "Wait" && x.record.WaitUntil.IsZero() {
			if err := i.enter(ctx, x, name, st, data); err != nil {
				return i.aborted(ctx, x, err)
			}
		}
		var failure *Error
		if name, data, failure = i.step(ctx, x, name, st, data); ctx.Err() != nil {
			return i.aborted(ctx, x, ctx.Err())
		}
		if failure != nil {
			return i.end(ctx, x, berth.ExecutionFailed, nil, failure)
		}
	}
	return i.end(ctx, x, berth.ExecutionSucceeded, data, nil)
}

// enter records that the execution is in a state that takes time or has an
// effect; the others are walked through again after a restart.
func (i *Interpreter) enter(ctx context.Context, x *execution, name string, st *State, data any) error {
	if st.Type != "Task" && st.Type != "Wait" {
		return nil
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	x.record.State, x.record.Data, x.record.WaitUntil = name, encoded, time.Time{}
	if st.Type == "Wait" {
		x.record.WaitUntil = i.config.Clock.Now().Add(st.wait(scope{data: data}))
	}
	return i.save(ctx, x)
}

// save writes the record however long the table takes to come back: an
// execution may not be lost because a disk was full.
func (i *Interpreter) save(ctx context.Context, x *execution) error {
	const firstPause, lastPause = 50 * time.Millisecond, 5 * time.Second
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := i.put(ctx, x)
		if err == nil || berth.CodeOf(err) == berth.CodeStale || ctx.Err() != nil {
			return err
		}
		i.config.Logger.Warn("cannot record an execution, trying again", "execution", string(x.id), "error", err)
		if i.config.Clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// aborted ends the execution if somebody stopped it; otherwise the process is
// ending, and the next one resumes.
func (i *Interpreter) aborted(ctx context.Context, x *execution, err error) error {
	var why stopped
	if !errors.As(context.Cause(ctx), &why) {
		return err
	}
	return i.end(i.base, x, berth.ExecutionAborted, nil, &Error{"", string(why)})
}

func (i *Interpreter) end(ctx context.Context, x *execution, status berth.ExecutionStatus, data any, failure *Error) error {
	if failure != nil {
		x.record.Error, x.record.Cause = failure.Name, failure.Cause
	}
	if status == berth.ExecutionSucceeded {
		encoded, err := json.Marshal(data)
		if err != nil {
			return err
		}
		x.record.Data = encoded
	}
	if status == berth.ExecutionFailed {
		i.config.Logger.Error("execution failed", "execution", string(x.id), "state", x.record.State, "error", failure.Name, "cause", failure.Cause)
	}
	x.record.end(status, i.config.Clock.Now())
	return i.save(ctx, x)
}

// step runs one state and says which is next, with what data; no next is the end.
func (i *Interpreter) step(ctx context.Context, x *execution, name string, st *State, data any) (next string, out any, failure *Error) {
	switch st.Type {
	case "Choice":
		next, failure = st.choose(scope{data: data})
		return next, data, failure
	case "Wait":
		if left := x.record.WaitUntil.Sub(i.config.Clock.Now()); left > 0 {
			// An interrupted sleep is seen in ctx.
			_ = i.config.Clock.Sleep(ctx, left)
		}
		x.record.WaitUntil = time.Time{}
		return st.Next, data, nil
	case "Pass":
		out, failure = st.pass(i.scopeOf(x, name, data), data)
		return st.Next, out, failure
	case "Succeed":
		return "", data, nil
	case "Fail":
		return "", nil, &Error{st.Error, st.Cause}
	}
	return i.runTask(ctx, x, name, st, data)
}

func (i *Interpreter) scopeOf(x *execution, name string, data any) scope {
	return scope{data: data, context: map[string]string{contextExecutionName: string(x.id), contextStateName: name}}
}

// wait is how long a Wait lasts; a path to anything but a number is no wait.
func (st *State) wait(s scope) time.Duration {
	if st.Seconds != nil {
		return time.Duration(*st.Seconds) * time.Second
	}
	v, _ := s.find(st.SecondsPath)
	n, _ := v.(json.Number)
	seconds, err := n.Int64()
	if err != nil {
		return 0
	}
	return time.Duration(min(max(seconds, 0), maxSeconds)) * time.Second
}

func (st *State) pass(s scope, data any) (any, *Error) {
	input, failure := st.input(s)
	if failure != nil {
		return nil, failure
	}
	if st.Result != nil {
		input = st.Result
	}
	return st.output(data, input)
}

// input is what a state works on: InputPath, then Parameters.
func (st *State) input(s scope) (any, *Error) {
	v, ok := s.find(st.InputPath)
	if !ok {
		return nil, &Error{errRuntime, "nothing is at InputPath " + st.InputPath}
	}
	if st.Parameters == nil {
		return v, nil
	}
	s.data = v
	return s.fill(st.Parameters)
}

// output joins a result with the data that the state was entered with.
func (st *State) output(data, result any) (any, *Error) {
	out := data
	if st.ResultPath != nil {
		var ok bool
		if out, ok = place(data, *st.ResultPath, result); !ok {
			return nil, &Error{errResultPath, "cannot put the result at " + *st.ResultPath}
		}
	}
	v, ok := scope{data: out}.find(st.OutputPath)
	if !ok {
		return nil, &Error{errRuntime, "nothing is at OutputPath " + st.OutputPath}
	}
	return v, tooLarge(v)
}

func tooLarge(v any) *Error {
	if encoded, err := json.Marshal(v); err != nil || len(encoded) > MaxDataBytes {
		return &Error{errDataLimit, fmt.Sprintf("the data of a state is at most %d bytes", MaxDataBytes)}
	}
	return nil
}

// decode keeps numbers as they are written.
func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}
