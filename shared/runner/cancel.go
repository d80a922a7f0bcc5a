package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Cancel decides that a run ends as cancelled, and ends its running command at
// once. A run that has no sandbox yet ends right here. Once how the run ends is
// decided, another Cancel changes nothing. Errors: not_found; conflict when the
// run has ended.
func (r *Runner) Cancel(ctx context.Context, id berth.RunID) error {
	stages, err := r.Records.ListStages(ctx, id)
	if err != nil {
		return err
	}
	head, err := r.Records.ChangeRun(ctx, id, func(c *records.Change) error {
		switch {
		case c.Head.Status.Ended():
			return berth.Errorf(berth.CodeConflict, "run %s has ended: it is %s", id, c.Head.Status)
		case ending(c.Head):
			return records.ErrUnchanged
		}
		o := cancelled()
		c.Head.CancelRequested, c.Head.Outcome = true, &o
		c.Event(berth.Event{Kind: berth.EventCancelRequested})
		if c.Head.Status == berth.RunSubmitted || c.Head.Status == berth.RunQueued {
			return r.endUnprovisioned(ctx, c, stages)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if head.Status.Ended() {
		r.Metrics.RunEnded(ctx, head.Status)
		return nil
	}
	return r.interrupt(ctx, head)
}

// endUnprovisioned ends a run for which nothing was made.
func (r *Runner) endUnprovisioned(ctx context.Context, c *records.Change, stages []berth.Stage) error {
	for _, stage := range stages {
		if err := r.abandon(ctx, c, stage.ID); err != nil {
			return err
		}
	}
	sb, err := c.Sandbox(ctx)
	if err != nil {
		return err
	}
	c.SetSandboxStatus(sb, berth.SandboxDestroyed, nil)
	c.Head.Reason = c.Head.Outcome.Reason
	c.SetStatus(c.Head.Outcome.Status)
	return nil
}

// interrupt hurries what the mark alone would bring about later: it wakes a run
// that waits for output and ends the command. What fails of it, Follow does.
func (r *Runner) interrupt(ctx context.Context, head records.Head) error {
	if head.Token != "" {
		if err := r.Orchestrator.Answer(ctx, head.Token, answered); err != nil {
			r.Logger.Warn("a cancelled run was not woken", "run", string(head.ID), "error", err)
		}
	}
	if head.Stage == "" {
		return nil
	}
	stage, err := r.Records.FindStage(ctx, head.ID, head.Stage)
	if err != nil {
		return err
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	if err == nil {
		err = provider.Cancel(ctx, berth.RefOf(sb), stage.Command)
	}
	if err != nil {
		r.Logger.Warn("the command of a cancelled run was not ended at once", "run", string(head.ID), "error", err)
	}
	return nil
}

// Abandon ends a run whose first execution could not be started.
func (r *Runner) Abandon(ctx context.Context, id berth.RunID, cause error) error {
	stages, err := r.Records.ListStages(ctx, id)
	if err != nil {
		return err
	}
	reason := reasonOf(berth.ReasonExecutionFailed, cause)
	head, live, err := r.changeLive(ctx, id, func(c *records.Change) error {
		if c.Head.Status != berth.RunSubmitted || ending(c.Head) {
			return records.ErrUnchanged // it was started after all
		}
		c.Head.Outcome = &records.Outcome{Status: berth.RunFailed, Reason: &reason}
		return r.endUnprovisioned(ctx, c, stages)
	})
	if live && head.Status.Ended() {
		r.Metrics.RunEnded(ctx, head.Status)
	}
	return err
}
