package control

import (
	"context"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/interpolate"
	"github.com/berth-dev/berth/shared/runner"
)

// StartCommand starts a process in a ready sandbox, with the variables that a
// stage of its run would get and those of the request. The same command under
// the same id is started once, and returned as it is recorded. Errors: conflict
// when the sandbox is not ready or the id belongs to another command; invalid
// for variables, secrets and directories; too_large.
func (p *Plane) StartCommand(ctx context.Context, sb berth.Sandbox, req berth.CommandRequest) (berth.Command, error) {
	if sb.Status != berth.SandboxReady {
		return berth.Command{}, notReady(sb)
	}
	if strings.HasPrefix(string(req.ID), runner.StageCommandPrefix) {
		return berth.Command{}, berth.FieldErrorf(berth.CodeInvalid, "id", "may not begin with %s: those are the commands of stages", runner.StageCommandPrefix)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return berth.Command{}, err
	}
	if req.ID == "" {
		req.ID = berth.CommandID(p.IDs.NewID())
	} else if cmd, started, err := p.startedEarlier(ctx, sb, req); err != nil || started {
		return cmd, err
	}
	spec, err := p.commandSpec(ctx, sb, req)
	if err != nil {
		return berth.Command{}, err
	}
	cmd, created, err := p.Records.CreateCommand(ctx, requested(sb, req))
	if err != nil {
		return cmd, err
	}
	// Also one that is recorded already: who recorded it may have died before this.
	if err := provider.StartCommand(ctx, ref, spec); err != nil {
		return cmd, p.refused(ctx, sb, cmd, created, err)
	}
	if cmd.Status = berth.CommandRunning; cmd.StartedAt == nil {
		cmd.StartedAt = &cmd.CreatedAt
	}
	return cmd, nil
}

func requested(sb berth.Sandbox, req berth.CommandRequest) berth.Command {
	return berth.Command{
		ID: req.ID, Sandbox: sb.ID, Argv: req.Command, Script: req.Script, Dir: req.Dir,
		Status: berth.CommandStarting, Timeout: req.Timeout,
	}
}

// startedEarlier finds a command that an earlier request has started. What it
// needed then, such as a secret, need not be there any more.
func (p *Plane) startedEarlier(ctx context.Context, sb berth.Sandbox, req berth.CommandRequest) (cmd berth.Command, started bool, err error) {
	_, err = p.Records.FindCommand(ctx, sb.ID, req.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return cmd, false, nil
	}
	if err == nil {
		// It is there, so this only compares.
		_, _, err = p.Records.CreateCommand(ctx, requested(sb, req))
	}
	if err == nil {
		cmd, err = p.DescribeCommand(ctx, sb, req.ID)
	}
	return cmd, cmd.Status != berth.CommandStarting, err
}

// refused forgets a command that was not started for good, so that its id is free.
func (p *Plane) refused(ctx context.Context, sb berth.Sandbox, cmd berth.Command, created bool, err error) error {
	switch berth.CodeOf(err) {
	case berth.CodeInvalid, berth.CodeUnsupported, berth.CodeTooLarge, berth.CodeNotFound, berth.CodeConflict:
		if created {
			if err := p.Records.DeleteCommand(ctx, sb.ID, cmd.ID); err != nil {
				return err
			}
		}
	}
	return p.gone(ctx, sb, err)
}

func (p *Plane) commandSpec(ctx context.Context, sb berth.Sandbox, req berth.CommandRequest) (berth.CommandSpec, error) {
	spec := berth.CommandSpec{ID: req.ID, Argv: req.Command, Script: req.Script, Dir: req.Dir, Stdin: req.Stdin}
	var err error
	if spec.Timeout, err = req.Timeout.Parse(); err != nil {
		return spec, berth.FieldErrorf(berth.CodeInvalid, "timeout", "%s", err.Error())
	}
	def, err := p.Records.FindDefinition(ctx, sb.Run)
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return spec, err
	}
	env := map[string]string{}
	for name, value := range req.Env {
		if env[name], err = interpolate.Vars(berth.FieldPath("env", name), value, p.variables(ctx)); err != nil {
			return spec, err
		}
	}
	spec.Env, spec.Mask, err = p.environ().Resolve(ctx, def.Environment.Env, env)
	return spec, err
}

// WriteInput appends to a command's standard input. Errors: not_found; conflict
// for a gap, and when the sandbox is not ready.
func (p *Plane) WriteInput(ctx context.Context, sb berth.Sandbox, id berth.CommandID, req berth.StdinRequest) (berth.StdinReply, error) {
	if sb.Status != berth.SandboxReady {
		return berth.StdinReply{}, notReady(sb)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return berth.StdinReply{}, err
	}
	next, err := provider.WriteInput(ctx, ref, id, req.Offset, req.Data, req.EOF)
	return berth.StdinReply{NextOffset: next}, err
}

// SignalCommand sends a signal by its name, with or without SIG; CANCEL ends the
// whole process tree. Errors: invalid for an unknown name; not_found; conflict
// when the sandbox is not ready.
func (p *Plane) SignalCommand(ctx context.Context, sb berth.Sandbox, id berth.CommandID, signal string) error {
	if sb.Status != berth.SandboxReady {
		return notReady(sb)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if name == berth.CancelSignal {
		return provider.Cancel(ctx, ref, id)
	}
	return provider.Signal(ctx, ref, id, name)
}
