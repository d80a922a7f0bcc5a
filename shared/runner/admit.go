package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// roomScope is the limit that live runs take their places from.
const roomScope = "runs"

// Admit takes a run in, or lets it queue when there are as many live runs as
// there may be. A run that an earlier execution has brought further goes on there.
func (r *Runner) Admit(ctx context.Context, s State) (State, error) {
	head, live, err := r.findLive(ctx, s.Run)
	switch {
	case err != nil:
		return s, err
	case !live || ending(head):
		return s.to(NextTeardown), nil
	case head.Status == berth.RunProvisioning:
		return s.to(NextProvision), nil
	case head.Status == berth.RunRunning, head.Status == berth.RunBlocked:
		return s.to(NextAdvance), nil
	}
	if r.MaxLiveRuns > 0 {
		taken, err := r.Records.TakeRoom(ctx, roomScope, s.Run, r.MaxLiveRuns)
		if err != nil {
			return s, err
		}
		if !taken {
			return r.queue(ctx, s)
		}
	}
	head, live, err = r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if ending(c.Head) || c.Head.Status == berth.RunProvisioning {
			return records.ErrUnchanged
		}
		c.SetStatus(berth.RunProvisioning)
		c.Event(berth.Event{Kind: berth.EventSandboxStatus, Status: string(berth.SandboxCreating), Message: string(berth.SandboxCreating)})
		return nil
	})
	if err != nil {
		return s, err
	}
	if !live || ending(head) {
		return s.to(NextTeardown), nil
	}
	return s.to(NextProvision), nil
}

func (r *Runner) queue(ctx context.Context, s State) (State, error) {
	const step, longest = 15, 60 // seconds
	_, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if c.Head.Status == berth.RunQueued || ending(c.Head) {
			return records.ErrUnchanged
		}
		c.SetStatus(berth.RunQueued)
		return nil
	})
	if err != nil || !live {
		return s.to(NextTeardown), err
	}
	return r.loop(s, NextWait, min(step*(s.Polls+1), longest)), nil
}
