package runner

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

const (
	defaultFollowTotal = 10 * time.Minute
	defaultFlushEvery  = 100 * time.Millisecond
	// longestRead is how long one read may hang: after it the mark of a cancel is
	// looked for again.
	longestRead = 2 * time.Second
	longestPoll = 15 // seconds
)

// Follow attaches to the stage's command and records its output as it comes,
// until the command has ended, or as long as the runner's fields say. It goes on
// where the record ends, so nothing is lost or doubled whoever died before; two
// at once do no harm.
func (r *Runner) Follow(ctx context.Context, s State) (State, error) {
	head, live, err := r.findLive(ctx, s.Run)
	if err != nil {
		return s, err
	}
	if !live {
		return s.to(NextAdvance), nil
	}
	stage, err := r.Records.FindStage(ctx, s.Run, s.Stage)
	if err != nil {
		return s, err
	}
	if head.Unstarted == s.Stage && !stage.Status.Ended() && !ending(head) {
		return r.startAgain(ctx, s)
	}
	if stage.Status != berth.StageRunning {
		return s.to(NextAdvance), nil
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	if isOff(err) {
		return r.followOff(ctx, s, err)
	}
	if err == nil {
		err = r.tellOn(ctx, head)
	}
	if err != nil {
		return s, err
	}
	f := &follower{
		runner: r, run: s.Run, provider: provider, ref: berth.RefOf(sb), stage: stage, offset: stage.Offset,
		cancelled: ending(head), began: r.Clock.Now(),
	}
	f.heard, f.lag.level = f.began, f.began
	ended, err := f.follow(ctx)
	if f.lag.recorded {
		r.Metrics.FollowLag(ctx, f.lag.longest)
	}
	if err != nil {
		return r.unfollowed(ctx, s, f, sb, err)
	}
	if ended {
		return s.to(NextAdvance), nil
	}
	return r.unattached(s, provider, f.heardAny), nil
}

// unattached says how to go on with a command that runs on.
func (r *Runner) unattached(s State, provider berth.Provider, heard bool) State {
	if heard {
		s.Polls = 0
	}
	_, nudges := provider.(Armer)
	switch {
	case r.FollowQuiet == 0:
		return r.loop(s, NextFollow, 0)
	case nudges:
		return r.loop(s, NextAwait, 0)
	}
	return r.loop(s, NextPause, doubling(s.Polls, longestPoll))
}

// closeStage records the end of a stage within a change.
func (r *Runner) closeStage(ctx context.Context, c *records.Change, stage *berth.Stage, exit berth.Exit) error {
	now := r.Clock.Now()
	stage.Exit, stage.EndedAt = &exit, &now
	switch {
	case exit.Succeeded():
		stage.Status = berth.StageSucceeded
	case exit.Reason == berth.ExitCancelled:
		stage.Status = berth.StageCancelled
	default:
		stage.Status = berth.StageFailed
	}
	if c.Head.Stage == stage.ID {
		c.Head.Stage, c.Head.Token = "", ""
	}
	if o := c.Head.Outcome; o != nil && o.Exit == nil {
		o.Exit = &exit
	}
	cmd, err := c.Command(ctx, berth.Command{ID: stage.Command, Sandbox: c.Head.Sandbox, Stage: stage.ID, StartedAt: stage.StartedAt})
	if err != nil {
		return err
	}
	cmd.Status, cmd.Exit, cmd.EndedAt = berth.CommandEnded, &exit, &now
	c.Event(berth.Event{Kind: berth.EventStageEnded, Stage: stage.ID, Status: string(stage.Status), Exit: &exit})
	return nil
}
