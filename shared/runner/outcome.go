package runner

import (
	"errors"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// reasonOf makes the reason of a domain error: its message for people, and what
// to do. The cause stays in the log.
func reasonOf(code string, err error) berth.Reason {
	var e *berth.Error
	if !errors.As(err, &e) {
		return berth.Reason{Code: code, Message: err.Error()}
	}
	shown := *e
	shown.Cause = nil
	return berth.Reason{Code: code, Message: shown.Error(), Remediation: e.Remediation}
}

// cancelled is the outcome of a run that somebody cancelled.
func cancelled() records.Outcome {
	return records.Outcome{
		Status: berth.RunCancelled,
		Reason: &berth.Reason{Code: berth.ReasonCancelled, Message: "the run was cancelled"},
	}
}

// outcomeOf says how a run ends whose stage has ended like this; nil when the
// run goes on.
func outcomeOf(stage berth.Stage, def berth.Definition) *records.Outcome {
	if stage.Exit == nil || stage.Exit.Succeeded() {
		return nil
	}
	o := &records.Outcome{Status: berth.RunFailed, Exit: stage.Exit}
	reason := berth.Reason{Message: stage.Exit.Message}
	switch stage.Exit.Reason {
	case berth.ExitCancelled:
		*o = cancelled()
		o.Exit = stage.Exit
		return o
	case berth.ExitLost:
		reason.Code = berth.ReasonLost
		if reason.Message == "" {
			reason.Message = "the sandbox or its host is gone"
		}
	case berth.ExitTimedOut:
		reason.Code, reason.Message = berth.ReasonTimedOut, timedOut(stage, def)
	case berth.ExitOutOfMemory:
		reason.Code, reason.Message = berth.ReasonOutOfMemory, outOfMemory(stage, def)
		reason.Remediation = "Raise resources.memory of the environment, or use less memory."
	default:
		reason.Code, reason.Message = failureCode(stage.Kind), ended(stage)
	}
	o.Reason = &reason
	return o
}

func failureCode(kind berth.StageKind) string {
	switch kind {
	case berth.StageClone:
		return berth.ReasonCloneFailed
	case berth.StagePrepare:
		return berth.ReasonPrepareFailed
	}
	return berth.ReasonCommandFailed
}

func ended(stage berth.Stage) string {
	how := fmt.Sprintf("ended with status %d", stage.Exit.Code)
	if stage.Exit.Signal != "" {
		how = fmt.Sprintf("was ended by signal %s", stage.Exit.Signal)
	}
	if stage.Exit.Message != "" {
		how += ": " + stage.Exit.Message
	}
	return fmt.Sprintf("%s %s", describe(stage), how)
}

func timedOut(stage berth.Stage, def berth.Definition) string {
	limit := ""
	if p, ok := planned(def, stage.ID); ok && p.timeout != "" {
		limit = " of " + string(p.timeout)
	}
	return describe(stage) + " ran into its timeout" + limit
}

func outOfMemory(stage berth.Stage, def berth.Definition) string {
	limit := ""
	if m := def.Environment.Resources.Memory; m != nil {
		limit = " of " + string(*m)
	}
	return describe(stage) + " needed more memory than the limit" + limit
}

// describe names a stage in a sentence.
func describe(stage berth.Stage) string {
	if stage.Kind == berth.StageCommand {
		return "the command"
	}
	return "stage " + string(stage.ID)
}
