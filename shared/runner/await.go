package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Await is the input of AwaitOutput.
type Await struct {
	State State  `json:"state"`
	Token string `json:"token"`
}

// AwaitOutput stores the task token and then arms the host agent with the
// offset that is recorded, so that output which came in between is not waited
// for. When the stage is over already, or the run is to end, it answers the
// token itself.
func (r *Runner) AwaitOutput(ctx context.Context, in Await) error {
	running := false
	head, live, err := r.changeLive(ctx, in.State.Run, func(c *records.Change) error {
		running = !ending(c.Head) && c.Head.Stage == in.State.Stage
		if !running {
			return records.ErrUnchanged
		}
		c.Head.Token = in.Token
		return nil
	})
	if err != nil {
		return err
	}
	if !live || !running {
		return r.Orchestrator.Answer(ctx, in.Token, answered)
	}
	stage, err := r.Records.FindStage(ctx, in.State.Run, in.State.Stage)
	if err != nil {
		return err
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	if isOff(err) {
		return r.Orchestrator.Answer(ctx, in.Token, answered) // Follow says so
	}
	if err != nil {
		return err
	}
	armer, ok := provider.(Armer)
	if !ok {
		return r.Orchestrator.Answer(ctx, in.Token, answered)
	}
	err = armer.Arm(ctx, berth.RefOf(sb), stage.Command, stage.Offset)
	if err == nil {
		return nil
	}
	// An agent that nudges nobody, or does not answer: Follow looks by itself.
	if berth.CodeOf(err) != berth.CodeUnsupported {
		r.Logger.Warn("an agent was not armed", "run", string(head.ID), "stage", string(stage.ID), "error", err)
	}
	return r.Orchestrator.Answer(ctx, in.Token, answered)
}

// answered is what a token is answered with: that it was is all there is to say.
var answered = []byte(`{}`)

// Nudge wakes a run that waits for output. One that does not wait is no error.
func (r *Runner) Nudge(ctx context.Context, run berth.RunID) error {
	head, live, err := r.findLive(ctx, run)
	if err != nil || !live || head.Token == "" {
		return err
	}
	return r.Orchestrator.Answer(ctx, head.Token, answered)
}
