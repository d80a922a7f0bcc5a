package runner

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Start starts the command of a stage. Secrets are resolved right before, and
// stored nowhere. The stage is recorded as running first, so that a command
// cannot run unknown; delivered again, it makes sure that the command was started.
func (r *Runner) Start(ctx context.Context, s State) (State, error) {
	head, live, err := r.findLive(ctx, s.Run)
	if err != nil {
		return s, err
	}
	if !live || ending(head) {
		return s.to(NextFollow), nil
	}
	stage, err := r.Records.FindStage(ctx, s.Run, s.Stage)
	if err != nil {
		return s, err
	}
	if stage.Status.Ended() {
		return s.to(NextFollow), nil
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	if isOff(err) {
		return r.startOff(ctx, s, err)
	}
	if err == nil {
		err = r.tellOn(ctx, head)
	}
	if err != nil {
		return s, err
	}
	ref := berth.RefOf(sb)
	if stage.Status == berth.StageRunning {
		_, err := provider.DescribeCommand(ctx, ref, stage.Command)
		if err == nil {
			return s.to(NextFollow), nil
		}
		if sb.Host != "" && unreachable(err) {
			return r.unstarted(ctx, s, provider, sb, err)
		}
		if berth.CodeOf(err) != berth.CodeNotFound {
			return s, berth.Wrap(err, "looking for the command of stage "+string(stage.ID))
		}
	}
	spec, reason, err := r.specOf(ctx, s.Run, stage)
	if err != nil {
		return s, err
	}
	if reason != nil {
		_, err := r.fail(ctx, s, *reason)
		return s.to(NextFollow), err
	}
	if started, err := r.begin(ctx, s.Run, stage.ID, sb, spec); err != nil || !started {
		return s.to(NextFollow), err
	}
	if err := provider.StartCommand(ctx, ref, spec); err != nil {
		if sb.Host != "" && unreachable(err) {
			return r.unstarted(ctx, s, provider, sb, err)
		}
		return r.notStarted(ctx, s, err, dead(ctx, provider, ref))
	}
	return s.to(NextFollow), nil
}

// begin records the stage as running, unless the run's end was decided.
func (r *Runner) begin(ctx context.Context, run berth.RunID, id berth.StageID, sb berth.Sandbox, spec berth.CommandSpec) (started bool, err error) {
	_, live, err := r.changeLive(ctx, run, func(c *records.Change) error {
		started = !ending(c.Head)
		if !started {
			return records.ErrUnchanged
		}
		stage, err := c.Stage(ctx, id)
		if err != nil {
			return err
		}
		if stage.Status != berth.StagePending {
			started = stage.Status == berth.StageRunning
			return records.ErrUnchanged
		}
		now := r.Clock.Now()
		stage.Status, stage.StartedAt, c.Head.Stage = berth.StageRunning, &now, id
		cmd, err := c.Command(ctx, commandOf(sb, *stage, spec))
		if err != nil {
			return err
		}
		cmd.Status, cmd.StartedAt = berth.CommandRunning, &now
		c.Event(berth.Event{Kind: berth.EventStageStarted, Stage: id, Status: string(berth.StageRunning), Message: stage.Name})
		return nil
	})
	return started && live, err
}

func commandOf(sb berth.Sandbox, stage berth.Stage, spec berth.CommandSpec) berth.Command {
	return berth.Command{
		ID: spec.ID, Sandbox: sb.ID, Stage: stage.ID, Argv: spec.Argv, Script: spec.Script, Dir: spec.Dir,
		Status: berth.CommandStarting, Timeout: durationOf(spec.Timeout),
	}
}

// durationOf writes a span as documents do; empty for none.
func durationOf(d time.Duration) berth.Duration {
	switch {
	case d == 0:
		return ""
	case d%time.Second == 0:
		return berth.Duration(fmt.Sprintf("%ds", d/time.Second))
	}
	return berth.Duration(fmt.Sprintf("%dms", max(d/time.Millisecond, 1)))
}

// notStarted tells what came of a start that failed: a sandbox that is gone or
// was stopped is lost to the run, and what the provider refuses fails it.
func (r *Runner) notStarted(ctx context.Context, s State, err error, dead bool) (State, error) {
	if transient(err) && !dead {
		return s, berth.Wrap(err, "starting stage "+string(s.Stage))
	}
	refused := !dead && berth.CodeOf(err) != berth.CodeNotFound && berth.CodeOf(err) != berth.CodeConflict
	_, _, changed := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		stage, found := c.Stage(ctx, s.Stage)
		if found != nil {
			return found
		}
		if stage.Status != berth.StageRunning {
			return records.ErrUnchanged
		}
		reason := reasonOf(failureCode(stage.Kind), err)
		exit := berth.Exit{Code: -1, Reason: berth.ExitLost, Message: reason.Message}
		if refused && !ending(c.Head) {
			c.Head.Outcome = &records.Outcome{Status: berth.RunFailed, Reason: &reason, Exit: &exit}
		}
		return r.closeStage(ctx, c, stage, exit)
	})
	return s.to(NextFollow), changed
}

// dead reports whether the provider knows for certain that nothing can be
// started in the sandbox any more.
func dead(ctx context.Context, provider berth.Provider, ref berth.SandboxRef) bool {
	state, err := provider.Describe(ctx, ref)
	return err == nil && (state.Status == berth.SandboxGone || state.Status == berth.SandboxFailed)
}

// specOf makes what the stage runs; reason says why that cannot be.
func (r *Runner) specOf(ctx context.Context, run berth.RunID, stage berth.Stage) (spec berth.CommandSpec, reason *berth.Reason, err error) {
	def, err := r.Records.FindDefinition(ctx, run)
	if err != nil {
		return spec, nil, err
	}
	p, ok := planned(def, stage.ID)
	if !ok {
		return spec, nil, berth.Errorf(berth.CodeInternal, "run %s has no plan for stage %s", run, stage.ID)
	}
	layers := []map[string]string{def.Environment.Env}
	switch p.stage.Kind {
	case berth.StageClone:
		if r.Cloner == nil {
			return spec, &berth.Reason{Code: berth.ReasonCloneFailed, Message: "this server cannot fetch code"}, nil
		}
		spec, err = r.Cloner.CloneCommand(ctx, def)
		switch {
		case err != nil && transient(err):
			return spec, nil, err
		case err != nil:
			reason := reasonOf(berth.ReasonCloneFailed, err)
			return spec, &reason, nil
		}
	case berth.StagePrepare:
		spec.Argv, spec.Script, spec.Dir = p.step.Command, p.step.Script, def.WorkingDir
		layers = append(layers, p.step.Env)
	default:
		spec.Argv, spec.Script, spec.Dir = def.Command, def.Script, def.WorkingDir
	}
	spec.ID = stage.Command
	if spec.Timeout == 0 {
		if spec.Timeout, err = p.timeout.Parse(); err != nil {
			return spec, nil, err
		}
	}
	env, mask, err := Environ{r.Records, r.Secrets}.Resolve(ctx, layers...)
	if berth.CodeOf(err) == berth.CodeInvalid {
		reason := reasonOf(berth.ReasonSecretUnavailable, err)
		reason.Message = err.Error()
		return spec, &reason, nil
	}
	maps.Copy(env, spec.Env) // a clone's credential is no variable of the environment
	spec.Env, spec.Mask = env, append(spec.Mask, mask...)
	return spec, nil, err
}

// sandboxOf returns the run's sandbox and its provider.
func (r *Runner) sandboxOf(ctx context.Context, head records.Head) (berth.Sandbox, berth.Provider, error) {
	sb, err := r.Records.FindSandbox(ctx, head.Sandbox)
	if err != nil {
		return sb, nil, err
	}
	provider, err := r.Providers.Find(sb.Provider)
	return sb, provider, err
}
