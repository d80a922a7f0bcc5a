package runner

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

const (
	defaultPatience = 2 * time.Second
	firstLook       = 10 * time.Millisecond // between two looks of one Provision
	lastLook        = 250 * time.Millisecond
	longestWait     = 15 // seconds, between two Provisions
)

// reasonProgress is the code of what a sandbox that is being made is at.
const reasonProgress = "progress"

// Provision makes the sandbox, or looks how far it is. It is ready only when
// bash has answered; a sandbox that cannot be made fails the run.
func (r *Runner) Provision(ctx context.Context, s State) (State, error) {
	head, live, err := r.findLive(ctx, s.Run)
	switch {
	case err != nil:
		return s, err
	case !live || ending(head):
		return s.to(NextTeardown), nil
	case head.Status == berth.RunRunning:
		return s.to(NextAdvance), nil
	}
	def, err := r.Records.FindDefinition(ctx, s.Run)
	if err != nil {
		return s, err
	}
	provider, err := r.Providers.Find(def.Environment.Provider)
	if err != nil {
		return r.provisionOff(ctx, s, head, err)
	}
	if err := r.tellOn(ctx, head); err != nil {
		return s, err
	}
	if head, err = r.claim(ctx, provider, head, def); err != nil {
		return s, berth.Wrap(err, "taking a sandbox from the pool")
	}
	sb, err := r.Records.FindSandbox(ctx, head.Sandbox)
	if err != nil {
		return s, err
	}
	t := r.try(head, s)
	state, fault, err := r.make(ctx, provider, sb, s.Run, def, t)
	switch {
	case err != nil:
		return s, err
	case fault == nil:
		return r.provisioned(ctx, s, provider, state)
	case ctx.Err() != nil:
		return s, berth.Wrap(fault.err, "making sandbox "+string(sb.ID))
	case fault.unreached:
		return r.unanswered(ctx, s, *fault, t)
	case sb.Host != "" && unreachable(fault.err):
		return r.unprovisioned(ctx, s, provider, sb, fault.err)
	case passing(fault.err):
		return r.unanswered(ctx, s, *fault, t)
	case transient(fault.err):
		return s, berth.Wrap(fault.err, "making sandbox "+string(sb.ID))
	}
	return r.fail(ctx, s, reasonOf(berth.ReasonProvisionFailed, fault.err))
}

// fault is an error of a provider. unreached says that nothing can have come of
// the call.
type fault struct {
	err       error
	unreached bool
}

// make asks the provider for the sandbox, and watches it for a while.
func (r *Runner) make(ctx context.Context, provider berth.Provider, sb berth.Sandbox, run berth.RunID, def berth.Definition, t try) (berth.SandboxState, *fault, error) {
	if fault, err := r.approach(ctx, provider, sb, run, def.Environment, t); fault != nil || err != nil {
		return berth.SandboxState{}, fault, err
	}
	state, err := provider.Provision(ctx, berth.SandboxSpec{
		ID: sb.ID, Installation: r.Installation, Run: run,
		Environment: def.Environment, Directory: def.Directory, Labels: def.Environment.Labels, Host: sb.Host,
	})
	if err != nil {
		return state, &fault{err: err}, nil
	}
	return r.watch(ctx, provider, run, sb.Host, state)
}

// watch looks at a sandbox that is being made for a short while, so that one
// that is soon ready costs no wait of the machine.
func (r *Runner) watch(ctx context.Context, provider berth.Provider, run berth.RunID, host berth.HostID, state berth.SandboxState) (berth.SandboxState, *fault, error) {
	patience := r.ProvisionPatience
	if patience == 0 {
		patience = defaultPatience
	}
	until := r.Clock.Now().Add(patience)
	for look := firstLook; state.Status == berth.SandboxCreating && r.Clock.Now().Before(until); look = min(2*look, lastLook) {
		if err := r.Clock.Sleep(ctx, look); err != nil {
			return state, nil, err
		}
		head, live, err := r.findLive(ctx, run)
		if err != nil || !live || ending(head) {
			return state, nil, err
		}
		if state, err = provider.Describe(ctx, berth.SandboxRef{ID: state.ID, Host: host, Ref: state.Ref}); err != nil {
			return state, &fault{err: err}, nil
		}
	}
	return state, nil, nil
}

func (r *Runner) provisioned(ctx context.Context, s State, provider berth.Provider, state berth.SandboxState) (State, error) {
	switch state.Status {
	case berth.SandboxReady:
		return r.ready(ctx, s, state)
	case berth.SandboxCreating:
		if _, ok := provider.(Reacher); ok && state.Detail == "" {
			state.Detail = string(berth.SandboxCreating) // it was reached, and that is to be known
		}
		return r.stillCreating(ctx, s, state)
	case berth.SandboxGone:
		return r.fail(ctx, s, berth.Reason{Code: berth.ReasonLost, Message: "the sandbox was gone before it was ready"})
	}
	reason := berth.Reason{Code: berth.ReasonProvisionFailed, Message: "the sandbox is " + string(state.Status)}
	if state.Reason != nil {
		reason = *state.Reason
	}
	return r.fail(ctx, s, reason)
}

// ready records the sandbox and lets the run begin, in one step.
func (r *Runner) ready(ctx context.Context, s State, state berth.SandboxState) (State, error) {
	var made bool
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if made = c.Head.Status != berth.RunRunning; !made {
			return records.ErrUnchanged
		}
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		sb.Ref, sb.Workspace, sb.Hint = state.Ref, state.Workspace, state.Hint
		c.Head.Unanswered = nil
		c.SetSandboxStatus(sb, berth.SandboxReady, nil)
		if !ending(c.Head) {
			c.SetStatus(berth.RunRunning)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if made && live && head.AdmittedAt != nil {
		r.Metrics.Provisioned(ctx, r.Clock.Now().Sub(*head.AdmittedAt))
	}
	if !live || ending(head) {
		return s.to(NextTeardown), nil
	}
	return s.to(NextAdvance), nil
}

// stillCreating records how far the sandbox is and waits.
func (r *Runner) stillCreating(ctx context.Context, s State, state berth.SandboxState) (State, error) {
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		known := sb.Ref == state.Ref
		said := sb.Reason != nil && sb.Reason.Message == state.Detail
		if known && (state.Detail == "" || said) && c.Head.Unanswered == nil {
			return records.ErrUnchanged
		}
		sb.Ref, c.Head.Unanswered = state.Ref, nil
		if state.Detail != "" && !said {
			sb.Reason = &berth.Reason{Code: reasonProgress, Message: state.Detail}
			c.Event(berth.Event{Kind: berth.EventSandboxProgress, Message: state.Detail})
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if !live || ending(head) {
		return s.to(NextTeardown), nil
	}
	return r.loop(s, NextWait, doubling(s.Polls, longestWait)), nil
}
