package control

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
)

// CreateRun resolves a request, records the run under id with the intent of its
// sandbox, and starts its execution. A run that is there under id is what an
// earlier call recorded, which may have died before the start. Errors: those of
// config.Resolve; invalid for secrets that are missing or no tokens; unsupported
// for labels that no host has; too_large; unavailable, and then a run that was
// recorded has failed.
func (p *Plane) CreateRun(ctx context.Context, id berth.RunID, req berth.RunRequest, createdBy string) (berth.RunID, error) {
	switch head, err := p.Records.FindHead(ctx, id); {
	case err == nil && head.Status.Ended():
		return id, nil
	case err == nil:
		return id, p.startRun(ctx, id)
	case berth.CodeOf(err) != berth.CodeNotFound:
		return "", err
	}
	def, err := p.resolve(ctx, req)
	if err != nil {
		return "", err
	}
	problems, err := p.checkSecrets(ctx, def)
	if err != nil {
		return "", err
	}
	if err := berth.Invalid(problems); err != nil {
		return "", err
	}
	if err := p.placeable(ctx, def.Environment); err != nil {
		return "", err
	}
	if p.Room != nil {
		if err := p.Room(); err != nil {
			return "", err
		}
	}
	_, err = p.Records.CreateRun(ctx, records.Head{ID: id, CreatedBy: createdBy}, def, runner.Plan(def), berth.Sandbox{
		ID: berth.SandboxID(p.IDs.NewID()), Environment: def.Environment.ID, Provider: def.Environment.Provider,
		Status: berth.SandboxCreating, Labels: def.Environment.Labels, KeptAfterRun: def.Environment.Lifecycle.Keeps(),
	})
	if err != nil {
		return "", err
	}
	return id, p.startRun(ctx, id)
}

func (p *Plane) startRun(ctx context.Context, id berth.RunID) error {
	if err := p.Orchestrator.Start(ctx, runner.ExecutionID(id, 1), runner.Input(id)); err != nil {
		return p.abandon(ctx, id, err)
	}
	return nil
}

// abandonTime is how long the end of a run that could not be started may take to
// be recorded, though its caller has gone.
const abandonTime = 5 * time.Second

func (p *Plane) abandon(ctx context.Context, id berth.RunID, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	if err := p.runner().Abandon(ctx, id, cause); err != nil {
		p.Logger.Warn("a run that could not be started is left to the sweeper", "run", string(id), "error", err)
	}
	return berth.Wrap(cause, "starting run "+string(id))
}

// CancelRun ends a run soon. Errors: not_found; conflict when it has ended.
func (p *Plane) CancelRun(ctx context.Context, id berth.RunID) error {
	return p.runner().Cancel(ctx, id)
}

// deleteTries is how often a deletion that meets others of the same run looks again.
const deleteTries = 5

// DeleteRun removes an ended run, its output and its sandbox, also a kept one.
// It may be called again after it was cut short. Errors: not_found; conflict
// while the run is live; unavailable when the sandbox could not be destroyed.
func (p *Plane) DeleteRun(ctx context.Context, id berth.RunID) error {
	for range deleteTries {
		// Another deletion was faster with a record: what it left is for this one.
		if err := p.deleteRun(ctx, id); berth.CodeOf(err) != berth.CodeStale {
			return err
		}
	}
	return berth.Errorf(berth.CodeConflict, "run %s is being deleted by other requests", id)
}

func (p *Plane) deleteRun(ctx context.Context, id berth.RunID) error {
	head, err := p.Records.FindHead(ctx, id)
	if err != nil {
		return err
	}
	if err := p.liveRun(ctx, id, "it cannot be deleted"); err != nil {
		return err
	}
	err = p.DestroySandbox(ctx, head.Sandbox)
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return err
	}
	if err := p.Records.DeleteSandbox(ctx, head.Sandbox); err != nil {
		return err
	}
	return p.Records.DeleteRun(ctx, id)
}

// Nudge wakes the run of a sandbox whose command has spoken or ended. It is what
// a host agent calls once after it was armed.
func (p *Plane) Nudge(ctx context.Context, sandbox berth.SandboxID) error {
	sb, err := p.Records.FindSandbox(ctx, sandbox)
	if err != nil || sb.Run == "" {
		return err
	}
	return p.runner().Nudge(ctx, sb.Run)
}
