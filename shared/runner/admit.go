package runner

import (
	"context"
	"fmt"

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
			return r.queue(ctx, s, fmt.Sprintf("%d runs are live, which is as many as may be", r.MaxLiveRuns))
		}
	}
	p, err := r.place(ctx, head)
	if err != nil {
		return s, err
	}
	if p.Wait != "" {
		if r.MaxLiveRuns > 0 {
			if err := r.Records.LeaveRoom(ctx, roomScope, s.Run); err != nil {
				return s, err
			}
		}
		return r.queue(ctx, s, p.Wait)
	}
	head, live, err = r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if ending(c.Head) || c.Head.Status == berth.RunProvisioning {
			return records.ErrUnchanged
		}
		if p.Host != "" {
			sb, err := c.Sandbox(ctx)
			if err != nil {
				return err
			}
			sb.Host, sb.UpdatedAt = p.Host, r.Clock.Now()
		}
		if p.decided && c.Head.Pool == "" {
			c.Head.Pool = madeCold
		}
		c.Head.Reason = nil // it is queued no more
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

// queue lets a run wait, and says for what.
func (r *Runner) queue(ctx context.Context, s State, why string) (State, error) {
	const step, longest = 15, 60 // seconds
	_, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		said := c.Head.Reason != nil && c.Head.Reason.Message == why
		if said || ending(c.Head) {
			return records.ErrUnchanged
		}
		c.Head.Reason = &berth.Reason{Code: berth.ReasonNoRoom, Message: why}
		c.SetStatus(berth.RunQueued)
		return nil
	})
	if err != nil || !live {
		return s.to(NextTeardown), err
	}
	return r.loop(s, NextWait, min(step*(s.Polls+1), longest)), nil
}
