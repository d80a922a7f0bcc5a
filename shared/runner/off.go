package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// isOff reports whether err says that the provider of a sandbox is off on this
// server. The sandbox is there all the same, and its command goes on.
func isOff(err error) bool { return berth.CodeOf(err) == berth.CodeUnsupported }

// tellOff records why the run does not go on, once, and which stage is still to be
// started, if one is. A run that is to end is left alone; waits is false for it.
func (r *Runner) tellOff(ctx context.Context, run berth.RunID, cause error, unstarted berth.StageID) (waits bool, err error) {
	reason := reasonOf(berth.ReasonProviderDisabled, cause)
	head, live, err := r.changeLive(ctx, run, func(c *records.Change) error {
		said := c.Head.Reason != nil && *c.Head.Reason == reason
		if ending(c.Head) || said && c.Head.Unstarted == unstarted {
			return records.ErrUnchanged
		}
		c.Head.Unstarted = unstarted
		if !said {
			c.Head.Reason = &reason
			c.Event(berth.Event{
				Kind: berth.EventNotice, Reason: &reason,
				Message: reason.Message + "; the run waits for a server where it is on",
			})
		}
		return nil
	})
	return live && !ending(head), err
}

// tellOn takes back what tellOff told.
func (r *Runner) tellOn(ctx context.Context, head records.Head) error {
	if head.Reason == nil || head.Reason.Code != berth.ReasonProviderDisabled {
		return nil
	}
	_, _, err := r.changeLive(ctx, head.ID, func(c *records.Change) error {
		if ending(c.Head) || c.Head.Reason == nil || c.Head.Reason.Code != berth.ReasonProviderDisabled {
			return records.ErrUnchanged
		}
		c.Head.Reason = nil
		c.Event(berth.Event{Kind: berth.EventNotice, Message: "the provider is on again: the run goes on"})
		return nil
	})
	return err
}

// provisionOff fails a run whose sandbox nobody asked for yet. One that may be
// there already waits, as a command does.
func (r *Runner) provisionOff(ctx context.Context, s State, head records.Head, cause error) (State, error) {
	sb, err := r.Records.FindSandbox(ctx, head.Sandbox)
	if err != nil {
		return s, err
	}
	if !isOff(cause) || untried(sb) {
		return r.fail(ctx, s, reasonOf(berth.ReasonProviderDisabled, cause))
	}
	waits, err := r.tellOff(ctx, s.Run, cause, "")
	if err != nil {
		return s, err
	}
	if !waits {
		return s.to(NextTeardown), nil
	}
	return r.loop(s, NextWait, doubling(s.Polls, longestWait)), nil
}

// startOff goes on with a stage whose provider is off: Follow sends it back to
// Start after a while.
func (r *Runner) startOff(ctx context.Context, s State, cause error) (State, error) {
	_, err := r.tellOff(ctx, s.Run, cause, s.Stage)
	return s.to(NextFollow), err
}

// followOff goes on with a command whose provider is off: it is asked for again
// until a server has the provider, or somebody cancels the run. The command's own
// timeout passes in the sandbox meanwhile.
func (r *Runner) followOff(ctx context.Context, s State, cause error) (State, error) {
	waits, err := r.tellOff(ctx, s.Run, cause, "")
	if err != nil {
		return s, err
	}
	if !waits {
		return s.to(NextAdvance), nil
	}
	return r.loop(s, NextPause, doubling(s.Polls, longestPoll)), nil
}
