package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Finish ends the run with its first recorded outcome. Stages that never ran
// are skipped; one that nobody saw the end of ends with the run.
func (r *Runner) Finish(ctx context.Context, s State) (State, error) {
	stages, err := r.Records.ListStages(ctx, s.Run)
	if err != nil {
		return s, err
	}
	halfMade, err := r.halfMade(ctx, s.Run)
	if err != nil {
		return s, err
	}
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if c.Head.Outcome == nil {
			o := outcomeOfFailure(c.Head, s.Failure)
			c.Head.Outcome = &o
		}
		if halfMade {
			sb, err := c.Sandbox(ctx)
			if err != nil {
				return err
			}
			if sb.Status == berth.SandboxCreating {
				c.SetSandboxStatus(sb, berth.SandboxFailed, c.Head.Outcome.Reason)
			}
		}
		for _, stage := range stages {
			if !stage.Status.Ended() {
				if err := r.abandon(ctx, c, stage.ID); err != nil {
					return err
				}
			}
		}
		o := c.Head.Outcome
		c.Head.Reason, c.Head.Exit = o.Reason, o.Exit
		c.SetStatus(o.Status)
		return nil
	})
	if live {
		r.Metrics.RunEnded(ctx, head.Status)
	}
	if err == nil && r.MaxLiveRuns > 0 {
		err = r.Records.LeaveRoom(ctx, roomScope, s.Run)
	}
	return s, err
}

// halfMade reports whether the run's sandbox is still being made by its record:
// Teardown could not destroy it. The sweeper does when the provider answers again.
func (r *Runner) halfMade(ctx context.Context, id berth.RunID) (bool, error) {
	head, live, err := r.findLive(ctx, id)
	if err != nil || !live {
		return false, err
	}
	sb, err := r.Records.FindSandbox(ctx, head.Sandbox)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return false, nil
	}
	return sb.Status == berth.SandboxCreating, err
}

// abandon closes a stage that did not come to its own end.
func (r *Runner) abandon(ctx context.Context, c *records.Change, id berth.StageID) error {
	stage, err := c.Stage(ctx, id)
	if err != nil {
		return err
	}
	switch stage.Status {
	case berth.StagePending:
		stage.Status = berth.StageSkipped
	case berth.StageRunning:
		exit := berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "nobody saw the end of the command"}
		if c.Head.Outcome.Status == berth.RunCancelled {
			exit = berth.Exit{Code: -1, Reason: berth.ExitCancelled}
		}
		return r.closeStage(ctx, c, stage, exit)
	}
	return nil
}
