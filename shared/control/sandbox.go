package control

import (
	"context"
	"fmt"
	"time"

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

// StartSandbox makes a stopped sandbox ready again, and one whose inside has
// died; one that is ready stays so. Errors: not_found; conflict when there is
// nothing to start; unavailable with the reason when it does not get ready.
func (p *Plane) StartSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil {
		return sb, err
	}
	if sb.Status != berth.SandboxStopped && sb.Status != berth.SandboxReady {
		return sb, notReady(sb)
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return sb, err
	}
	if sb.Status == berth.SandboxReady {
		state, err := provider.Describe(ctx, ref)
		if err != nil || state.Status == berth.SandboxReady {
			return sb, err
		}
	}
	state, err := provider.Start(ctx, ref)
	if err == nil {
		state, err = p.started(ctx, provider, ref.Host, state)
	}
	if err != nil {
		return sb, p.gone(ctx, sb, err)
	}
	return p.Records.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error {
		sb.Status, sb.Reason = berth.SandboxReady, nil
		sb.Ref, sb.Workspace, sb.Hint = state.Ref, state.Workspace, state.Hint
		return nil
	})
}

const (
	startTime = 20 * time.Second // that a sandbox may take to get ready
	startLook = 100 * time.Millisecond
)

// started waits until a sandbox that was started is ready.
func (p *Plane) started(ctx context.Context, provider berth.Provider, host berth.HostID, state berth.SandboxState) (berth.SandboxState, error) {
	until := p.Clock.Now().Add(startTime)
	for state.Status == berth.SandboxCreating && p.Clock.Now().Before(until) {
		if err := p.Clock.Sleep(ctx, startLook); err != nil {
			return state, err
		}
		var err error
		if state, err = provider.Describe(ctx, berth.SandboxRef{ID: state.ID, Host: host, Ref: state.Ref}); err != nil {
			return state, err
		}
	}
	switch {
	case state.Status == berth.SandboxReady:
		return state, nil
	case state.Status == berth.SandboxGone:
		return state, berth.Errorf(berth.CodeNotFound, "sandbox %s is gone", state.ID)
	case state.Reason != nil:
		return state, &berth.Error{Code: berth.CodeUnavailable, Message: state.Reason.Message, Remediation: state.Reason.Remediation}
	}
	return state, berth.Errorf(berth.CodeUnavailable, "sandbox %s is still %s: try again", state.ID, state.Status)
}

// DestroySandbox leaves nothing of a sandbox but its record; one that is
// destroyed is no error, and nothing is asked of the provider of one of which
// nothing was made. Errors: not_found; conflict while its run is live.
func (p *Plane) DestroySandbox(ctx context.Context, id berth.SandboxID) error {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil || sb.Status == berth.SandboxDestroyed {
		return err
	}
	if err := p.liveRun(ctx, sb.Run, "its sandbox cannot be destroyed"); err != nil {
		return err
	}
	if err := p.destroyMade(ctx, sb); err != nil {
		return err
	}
	return p.destroyed(ctx, id, unmadeReason(sb))
}

// destroyMade has the provider destroy what was made of a sandbox, if anything was.
// Its errors are the provider's.
func (p *Plane) destroyMade(ctx context.Context, sb berth.Sandbox) error {
	if sb.Unmade() {
		return nil
	}
	provider, ref, err := p.providerOf(sb)
	if err != nil {
		return err
	}
	return berth.Wrap(provider.Destroy(ctx, ref), "destroying sandbox "+string(sb.ID))
}

// unmadeReason is why nothing was made of a sandbox; nil when something was.
func unmadeReason(sb berth.Sandbox) *berth.Reason {
	if sb.Unmade() {
		return sb.Reason
	}
	return nil
}

// forgetTime is how long a provider may take to destroy a sandbox that is forgotten
// if it does not: what is healthy but slow is to have enough, and gateways before the
// server give up after 29 s.
const forgetTime = 20 * time.Second

// ForgetSandbox is DestroySandbox for a sandbox whose provider may be gone for good:
// where that does not answer or cannot be used, the sandbox counts as destroyed all
// the same, for a reason that says what may be left and where. A provider that comes
// back is swept. Errors: not_found; conflict while its run is live or its provider
// does something else with it.
func (p *Plane) ForgetSandbox(ctx context.Context, id berth.SandboxID) error {
	sb, err := p.Records.FindSandbox(ctx, id)
	if err != nil || sb.Status == berth.SandboxDestroyed {
		return err
	}
	if err := p.liveRun(ctx, sb.Run, "its sandbox cannot be forgotten"); err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	err = p.destroyMade(trying, sb)
	switch {
	case err == nil:
		return p.destroyed(ctx, id, unmadeReason(sb))
	case ctx.Err() != nil: // who asked has gone
		return err
	}
	why := "its provider could not be used"
	switch {
	case trying.Err() != nil:
		why = fmt.Sprintf("its provider was not done after %s", forgetTime)
	case !unusable(berth.CodeOf(err)):
		return err
	}
	p.Logger.Warn("a sandbox is forgotten that was not destroyed", "sandbox", string(id), "error", err)
	reason := berth.Reason{Code: berth.ReasonForgotten, Message: "sandbox " + string(id) + " is forgotten: " + why + "; " + whereLeft(sb)}
	reason.Remediation = "Look there, and remove it by hand; when the provider answers again, the server does so by itself."
	return p.destroyed(ctx, id, &reason)
}

// unusable reports whether a provider's error says that it may be gone for good,
// and not that it is well and refuses. Invalid is for what it is reached with, such
// as a key or a host key that does not fit any more.
func unusable(code berth.Code) bool {
	switch code {
	case berth.CodeUnavailable, berth.CodeTimedOut, berth.CodeRateLimited, berth.CodeInternal,
		berth.CodeUnsupported, berth.CodeUnauthenticated, berth.CodeForbidden, berth.CodeInvalid:
		return true
	}
	return false
}

// whereLeft says what may be left of a sandbox.
func whereLeft(sb berth.Sandbox) string {
	where := "what was made of it may be left at provider " + string(sb.Provider)
	if sb.Host != "" {
		where += ", host " + string(sb.Host)
	}
	if sb.Ref != "" {
		where += ", as " + sb.Ref
	}
	return where
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
