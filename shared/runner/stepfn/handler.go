package stepfn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
)

// Handler makes a Lambda handler of a task. Its errors have the names that Retry
// and Catch of the machine match, a panic too; failures that an earlier task
// left in the state come to the task as they were raised. Every call leaves one
// log line that names the run.
func Handler(name string, task asl.Task, logger *slog.Logger) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, input json.RawMessage) (output json.RawMessage, err error) {
		logger := logger.With(append(about(input), "task", name)...)
		defer func() {
			if r := recover(); r != nil {
				logger.ErrorContext(ctx, "task panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
				err = messages.InvokeResponse_Error{Type: "Panic", Message: "the task " + name + " panicked"}
			}
		}()
		output, err = task(ctx, plainFailure(input))
		if err == nil && len(output) > asl.MaxDataBytes {
			err = berth.Errorf(berth.CodeTooLarge, "the result of task %s is %d bytes, the limit is %d", name, len(output), asl.MaxDataBytes)
		}
		if err != nil {
			logger.WarnContext(ctx, "task failed", "error", err.Error())
			return nil, named(err)
		}
		var after runner.State
		_ = json.Unmarshal(output, &after) // AwaitOutput has none
		logger.InfoContext(ctx, "task done", "next", string(after.Next))
		return output, nil
	}
}

// about names in a log what a task is about.
func about(input json.RawMessage) []any {
	var in struct {
		runner.State
		Of runner.State `json:"state"` // of AwaitOutput
	}
	_ = json.Unmarshal(input, &in) // a task itself refuses what is no state
	s := in.State
	if s.Run == "" {
		s = in.Of
	}
	attrs := []any{"run", string(s.Run)}
	if s.Execution != "" {
		attrs = append(attrs, "execution", string(s.Execution))
	}
	if s.Stage != "" {
		attrs = append(attrs, "stage", string(s.Stage))
	}
	return attrs
}

// named is the error under the name that the machine knows it by.
func named(err error) messages.InvokeResponse_Error {
	var e *asl.Error
	if errors.As(err, &e) {
		return messages.InvokeResponse_Error{Type: e.Name, Message: e.Cause}
	}
	return messages.InvokeResponse_Error{Type: runner.ErrorName(err), Message: err.Error()}
}

// plainFailure undoes what Lambda and Step Functions make of a cause, in the
// state's failure if it has one.
func plainFailure(input json.RawMessage) json.RawMessage {
	var state map[string]json.RawMessage
	if json.Unmarshal(input, &state) != nil || state["failure"] == nil {
		return input
	}
	var failure runner.Failure
	if json.Unmarshal(state["failure"], &failure) != nil {
		return input
	}
	cause := plainCause(failure.Cause)
	if cause == failure.Cause {
		return input
	}
	failure.Cause = cause
	var err error
	if state["failure"], err = json.Marshal(failure); err != nil {
		return input
	}
	plain, err := json.Marshal(state)
	if err != nil {
		return input
	}
	return plain
}

// plainCause is the message in what a failed function leaves as the cause: its
// whole error as JSON. Other causes stay as they are.
func plainCause(cause string) string {
	var failed struct {
		Type    *string `json:"errorType"`
		Message *string `json:"errorMessage"`
	}
	if json.Unmarshal([]byte(cause), &failed) != nil || failed.Type == nil || failed.Message == nil {
		return cause
	}
	return *failed.Message
}
