package main

import (
	"errors"

	"github.com/berth-dev/berth/shared/berth"
)

// statusOfRun is what `berth run` ends with: the status of the stage that
// decided the run, or what its reason stands for.
func statusOfRun(run berth.Run) int {
	switch {
	case run.Status == berth.RunSucceeded:
		return 0
	case run.Status == berth.RunCancelled:
		return statusCancelled
	case run.Exit != nil && !run.Exit.Succeeded():
		return statusOfExit(*run.Exit)
	case run.Reason == nil:
		return statusOwn
	}
	switch run.Reason.Code {
	case berth.ReasonTimedOut:
		return statusTimedOut
	case berth.ReasonOutOfMemory:
		return statusMemory
	case berth.ReasonCancelled, berth.ReasonExecutionStopped:
		return statusCancelled
	}
	return statusOwn
}

// statusOfExit is the status of a command. One that no shell could have given
// is berth's own failure.
func statusOfExit(e berth.Exit) int {
	if s := e.CLIStatus(); s >= 0 && s <= 255 {
		return s
	}
	return statusOwn
}

// withStatus ends the program with a status; 0 is no error.
func withStatus(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// errLeft ends a command that a person left with a second Ctrl-C.
var errLeft = errors.New("left by the user")
