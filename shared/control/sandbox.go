package control

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// StopSandbox ends the commands of a sandbox and keeps its files; one that is
// stopped stays so. Errors: not_found; conflict while its run is live, or when
// there is nothing to stop.
func (p *Plane) StopSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil || sb.Status == berth.SandboxStopped {
		return sb, err
	}
	if err := p.liveRun(ctx, sb.Run, "its sandbox cannot be stopped"); err != nil {
		return sb, err
	}
	if sb.Status != berth.SandboxReady {
		return sb, notReady(sb)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return sb, err
	}
	if err := provider.Stop(ctx, ref); err != nil {
		return sb, p.gone(ctx, sb, err)
	}
	return p.Records.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error {
		sb.Status = berth.SandboxStopped
		return nil
	})
}

// StartSandbox makes a stopped sandbox ready again; one that is ready stays so.
// Errors: not_found; conflict when there is nothing to start.
func (p *Plane) StartSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil || sb.Status == berth.SandboxReady {
		return sb, err
	}
	if sb.Status != berth.SandboxStopped {
		return sb, notReady(sb)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return sb, err
	}
	state, err := provider.Start(ctx, ref)
	if err != nil {
		return sb, p.gone(ctx, sb, err)
	}
	return p.Records.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error {
		sb.Status = berth.SandboxReady
		sb.Ref, sb.Workspace, sb.Hint = state.Ref, state.Workspace, state.Hint
		return nil
	})
}

// DestroySandbox leaves nothing of a sandbox but its record; one that is
// destroyed is no error. Errors: not_found; conflict while its run is live.
func (p *Plane) DestroySandbox(ctx context.Context, id berth.SandboxID) error {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil || sb.Status == berth.SandboxDestroyed {
		return err
	}
	if err := p.liveRun(ctx, sb.Run, "its sandbox cannot be destroyed"); err != nil {
		return err
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return err
	}
	if err := provider.Destroy(ctx, ref); err != nil {
		return berth.Wrap(err, "destroying sandbox "+string(id))
	}
	return p.destroyed(ctx, id, nil)
}

func (p *Plane) destroyed(ctx context.Context, id berth.SandboxID, reason *berth.Reason) error {
	_, err := p.Records.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error {
		sb.Status, sb.Reason, sb.Preserved, sb.KeepUntil, sb.Hint = berth.SandboxDestroyed, reason, false, nil, ""
		return nil
	})
	return err
}

// gone records that a sandbox has vanished, if that is what err says, and tells so.
func (p *Plane) gone(ctx context.Context, sb berth.Sandbox, err error) error {
	if berth.CodeOf(err) != berth.CodeNotFound {
		return err
	}
	reason := &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox is gone"}
	if err := p.destroyed(ctx, sb.ID, reason); err != nil {
		return err
	}
	return berth.Errorf(berth.CodeConflict, "sandbox %s is gone: its provider does not know it any more", sb.ID)
}

// notReady says what state a sandbox is in, and what can be done.
func notReady(sb berth.Sandbox) error {
	e := berth.Errorf(berth.CodeConflict, "sandbox %s is %s", sb.ID, sb.Status)
	switch sb.Status {
	case berth.SandboxStopped:
		e.Remediation = "Start it: berth sandbox start " + string(sb.ID)
	case berth.SandboxCreating:
		e.Remediation = "Wait until it is ready."
	case berth.SandboxDestroyed, berth.SandboxFailed:
		e.Remediation = "Start another run; with --preserve-sandbox its sandbox outlives it."
	}
	return e
}
