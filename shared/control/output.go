package control

import (
	"bytes"
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

// DescribeCommand returns a command as it is now. Error: not_found.
func (p *Plane) DescribeCommand(ctx context.Context, sb berth.Sandbox, id berth.CommandID) (berth.Command, error) {
	cmd, err := p.Records.FindCommand(ctx, sb.ID, id)
	if err != nil || cmd.Status == berth.CommandEnded {
		return cmd, err
	}
	if !reachable(sb) {
		return p.ended(ctx, cmd, berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the sandbox is " + string(sb.Status)})
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return cmd, err
	}
	state, err := provider.DescribeCommand(ctx, ref, id)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return cmd, nil // recorded, and not started yet
	case err != nil:
		return cmd, err
	case state.Exit != nil:
		return p.ended(ctx, cmd, *state.Exit)
	}
	cmd.Status = state.Status
	if !state.StartedAt.IsZero() {
		cmd.StartedAt = &state.StartedAt
	}
	return cmd, nil
}

// reachable reports whether a provider still answers for the sandbox's commands.
func reachable(sb berth.Sandbox) bool {
	return sb.Status == berth.SandboxReady || sb.Status == berth.SandboxStopped || sb.Status == berth.SandboxCreating
}

// ended records a command's exit, the first time that it is seen.
func (p *Plane) ended(ctx context.Context, cmd berth.Command, exit berth.Exit) (berth.Command, error) {
	now := p.Clock.Now()
	return p.Records.ChangeCommand(ctx, cmd.Sandbox, cmd.ID, func(c *berth.Command) error {
		if c.Status == berth.CommandEnded {
			return nil
		}
		c.Status, c.Exit, c.EndedAt = berth.CommandEnded, &exit, &now
		if c.StartedAt == nil {
			c.StartedAt = &c.CreatedAt
		}
		return nil
	})
}

// CommandOutput reads whole frames from offset on, at most limit bytes but one
// frame at least; with nothing there yet it waits. What a stage's command said
// can be read after its sandbox is destroyed. Errors: not_found; invalid for an
// offset that is no edge of a frame; conflict when the output went with the sandbox.
func (p *Plane) CommandOutput(ctx context.Context, sb berth.Sandbox, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.OutputReply, error) {
	cmd, err := p.Records.FindCommand(ctx, sb.ID, id)
	if err != nil {
		return berth.OutputReply{}, err
	}
	if !reachable(sb) {
		return p.recordedOutput(ctx, sb, cmd, offset, limit)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return berth.OutputReply{}, err
	}
	out, err := provider.ReadOutput(ctx, ref, id, offset, limit, wait)
	if berth.CodeOf(err) == berth.CodeNotFound && cmd.Status == berth.CommandStarting {
		return berth.OutputReply{Frames: []berth.Frame{}, NextOffset: offset}, nil // not started yet
	}
	if err != nil {
		return berth.OutputReply{}, err
	}
	if out.Ended && out.Exit != nil && cmd.Status != berth.CommandEnded && cmd.Stage == "" {
		if _, err := p.ended(ctx, cmd, *out.Exit); err != nil {
			return berth.OutputReply{}, err
		}
	}
	return reply(cmd, out)
}

func reply(cmd berth.Command, out berth.Output) (berth.OutputReply, error) {
	frames, _, err := spool.Decode(out.Bytes)
	if err != nil {
		return berth.OutputReply{}, err
	}
	if frames == nil {
		frames = []berth.Frame{}
	}
	r := berth.OutputReply{Stage: cmd.Stage, Frames: frames, NextOffset: out.Next, EOF: out.Ended}
	if out.Ended {
		r.Exit = out.Exit
	}
	return r, nil
}

// recordedOutput reads what a run has recorded of a stage's command.
func (p *Plane) recordedOutput(ctx context.Context, sb berth.Sandbox, cmd berth.Command, offset int64, limit int) (berth.OutputReply, error) {
	if cmd.Stage == "" {
		return berth.OutputReply{}, berth.Errorf(berth.CodeConflict, "sandbox %s is %s, and the output of its commands went with it", sb.ID, sb.Status)
	}
	stage, err := p.Records.FindStage(ctx, sb.Run, cmd.Stage)
	if err != nil {
		return berth.OutputReply{}, err
	}
	raw, err := p.Records.ReadOutput(ctx, sb.Run, cmd.Stage, offset, max(limit, spool.MaxFrame))
	if err != nil {
		return berth.OutputReply{}, err
	}
	whole, err := spool.ReadWhole(bytes.NewReader(raw), 0, limit)
	if err != nil {
		return berth.OutputReply{}, err
	}
	next := offset + int64(len(whole))
	return reply(cmd, berth.Output{Bytes: whole, Next: next, Ended: stage.Status.Ended() && next >= stage.Offset, Exit: stage.Exit})
}
