package berth

import (
	"context"
	"time"
)

// ExecutionStatus is where an execution of the state machine stands, in the
// words of Step Functions; Missing is an execution that is not known.
type ExecutionStatus string

// The states of an execution.
const (
	ExecutionRunning   ExecutionStatus = "RUNNING"
	ExecutionSucceeded ExecutionStatus = "SUCCEEDED"
	ExecutionFailed    ExecutionStatus = "FAILED"
	ExecutionTimedOut  ExecutionStatus = "TIMED_OUT"
	ExecutionAborted   ExecutionStatus = "ABORTED"
	ExecutionMissing   ExecutionStatus = "MISSING"
)

// Execution is what an orchestrator knows of one execution.
type Execution struct {
	ID        ExecutionID
	Status    ExecutionStatus
	Error     string // name of the error that ended it
	Cause     string
	StartedAt time.Time
	EndedAt   time.Time
}

// Orchestrator is the port to what drives runs. It only drives: the record of a
// run is in the table.
//
// Errors: unavailable; too_large for an input over 256 KB.
type Orchestrator interface {
	// Start begins an execution with a JSON input. One that is running or has
	// ended under the same id counts as started.
	Start(ctx context.Context, id ExecutionID, input []byte) error
	// Stop aborts an execution; one that has ended stays as it is.
	Stop(ctx context.Context, id ExecutionID, cause string) error
	// Describe returns status MISSING for an execution that is not known.
	Describe(ctx context.Context, id ExecutionID) (Execution, error)
	// Answer gives a waiting task its result (JSON) by its token. A token that
	// was answered, timed out or is unknown is no error: somebody was first.
	Answer(ctx context.Context, token string, output []byte) error
}

// Waiter tells a reader that something it watches may have changed, so that a
// long poll reads again. Topics are `run/<id>` and `command/<sandbox>/<id>`.
type Waiter interface {
	// Watch registers interest in a topic until the Watch is closed.
	Watch(topic string) Watch
}

// Watch is one registered interest in a topic. Register before reading, then
// Wait, then read again: no change falls between.
type Watch interface {
	// Wait returns when the topic may have changed since the Watch, after a time
	// of the implementation's choice, or at the end of ctx; the caller reads
	// again either way.
	Wait(ctx context.Context)
	Close()
}

// Notifier is the other side of Waiter.
type Notifier interface {
	Notify(topic string)
}
