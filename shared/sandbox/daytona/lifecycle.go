package daytona

import (
	"context"
	"maps"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// stateOf says what Daytona's word means. A state that is not known is told as
// creating: nothing may be done with the sandbox yet.
func (p *Provider) stateOf(s daytonaapi.Sandbox, id berth.SandboxID) berth.SandboxState {
	state := berth.SandboxState{
		ID: id, Run: berth.RunID(s.Labels[labelRun]), Ref: s.ID, Workspace: s.Labels[labelWorkspace], CreatedAt: s.Created(),
		Hint: "berth sandbox ssh " + string(id),
	}
	if isGone(s) {
		return berth.SandboxState{ID: id, Status: berth.SandboxGone}
	}
	switch s.State {
	case daytonaapi.Started:
		state.Status = berth.SandboxReady
		if isPlain(s) {
			state.Detail = plainDetail
		}
		if state.Workspace == "" {
			state.Status, state.Detail = berth.SandboxCreating, "preparing"
		}
	case daytonaapi.Stopped, daytonaapi.Archived, daytonaapi.Paused, "stopping", "archiving", "pausing":
		state.Status = berth.SandboxStopped
	case daytonaapi.Failed, daytonaapi.BuildFailed:
		state.Status = berth.SandboxFailed
		state.Reason = &berth.Reason{Code: berth.ReasonLost, Message: (&startFailed{s.State, s.ErrorReason}).Error()}
	default:
		state.Status, state.Detail = berth.SandboxCreating, "Daytona says "+string(s.State)
	}
	return state
}

// Describe returns status gone for a sandbox that is not there. That making it was
// interrupted is told as its detail, and why a start came to nothing as the reason
// of its state, to each who looks: only Provision and Start act on it. Error:
// unavailable for one in a state that this berth does not know.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b := p.box(ref.ID)
	if state, known := b.present(ref.ID); known {
		return state, nil
	}
	if m := b.interrupted(); m != nil {
		m.tell(reasonOf(berth.Shown(m.err, notMade)).Message) // Provision tells it too, and then goes on
		return m.state(ref.ID), nil
	}
	state, err := p.describe(ctx, b, ref)
	if failed := b.failedStart(); failed != nil && err == nil && state.Status != berth.SandboxReady && state.Status != berth.SandboxGone {
		state.Reason = reasonOf(failed)
	}
	return state, err
}

// notMade is told of an error that is only for the log.
const notMade = "making the sandbox failed; the server's log says why"

// describe asks Daytona.
func (p *Provider) describe(ctx context.Context, b *box, ref berth.SandboxRef) (berth.SandboxState, error) {
	s, err := p.find(ctx, ref)
	switch {
	case isNotFound(err):
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	case err != nil:
		return berth.SandboxState{}, err
	case !s.State.Known():
		return berth.SandboxState{}, unknownState(s)
	}
	state := p.stateOf(b.fresh(s), ref.ID)
	if state.Status != berth.SandboxReady || isPlain(s) {
		return state, nil
	}
	return p.withGuest(ctx, ref, state)
}

// withGuest is the state of a started sandbox, whose guest may have ended.
func (p *Provider) withGuest(ctx context.Context, ref berth.SandboxRef, state berth.SandboxState) (berth.SandboxState, error) {
	guest, err := p.Sandboxes.Describe(ctx, ref)
	switch {
	case err != nil:
		return state, berth.Wrap(err, "asking the sandbox's guest")
	case guest.Status == berth.SandboxReady:
	case guest.Reason != nil:
		state.Status, state.Reason = berth.SandboxFailed, guest.Reason
	default:
		state.Status = berth.SandboxFailed
		state.Reason = &berth.Reason{
			Code: berth.ReasonLost, Message: "the sandbox was started from outside, and its guest is not running",
			Remediation: "Start it with berth sandbox start " + string(ref.ID) + ".",
		}
	}
	return state, nil
}

func unknownState(s daytonaapi.Sandbox) error {
	return berth.Errorf(berth.CodeUnavailable, "Daytona says that the sandbox is in state %q, which this berth does not know", s.State)
}

// fresh puts right what Daytona's answer may not know yet: that we made the
// sandbox ready.
func (b *box) fresh(s daytonaapi.Sandbox) daytonaapi.Sandbox {
	l := b.liveNow()
	if l == nil || l.sandbox.ID != s.ID || s.Labels[labelWorkspace] != "" {
		return s
	}
	labels := map[string]string{}
	maps.Copy(labels, s.Labels)
	labels[labelWorkspace] = l.workspace
	s.Labels = labels
	return s
}

// Stop ends the commands and the sandbox; its files stay. An ephemeral one would
// be deleted by that, so that is switched off first. Error: unavailable when that
// takes long; it may be called again.
func (p *Provider) Stop(outer context.Context, ref berth.SandboxRef) error {
	ctx, cancel := context.WithTimeout(outer, p.config.Pace.Stop)
	defer cancel()
	err := p.stop(ctx, ref)
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "the Daytona sandbox has not stopped in " + p.config.Pace.Stop.String(), Cause: err}
	}
	return err
}

func (p *Provider) stop(ctx context.Context, ref berth.SandboxRef) error {
	b := p.box(ref.ID)
	s, err := p.take(ctx, b, ref)
	if err != nil {
		return err
	}
	if s.State == daytonaapi.Started {
		// The guest writes down that its commands were cancelled. Where it does not
		// answer, they are lost.
		halt := p.Sandboxes.Stop
		if p.plain != nil && isPlain(s) {
			halt = p.plain.Stop
		}
		limited, cancel := context.WithTimeout(ctx, p.config.Pace.Stop/2) // what is left is for Daytona
		defer cancel()
		if err := halt(limited, ref); err != nil {
			p.config.Logger.Warn("a sandbox is stopped without its guest's help", "sandbox", ref.ID, "error", err)
		}
	}
	p.Sandboxes.Forget(ref.ID)
	b.leave()
	b.forgetStart()
	if s.AutoDeleteInterval == nil || *s.AutoDeleteInterval >= 0 {
		if err := p.client.SetAutoDelete(ctx, s.ID, -1); err != nil {
			return berth.Wrap(err, "keeping the sandbox when it stops")
		}
	}
	if s.State != daytonaapi.Stopped && s.State != daytonaapi.Archived {
		if err := p.client.StopSandbox(ctx, s.ID); err != nil {
			return berth.Wrap(err, "stopping the sandbox")
		}
	}
	return p.until(ctx, s.ID, "stopped", func(s daytonaapi.Sandbox) bool {
		return s.State == daytonaapi.Stopped || s.State == daytonaapi.Archived
	})
}

// take finds a sandbox that has been made. Error: conflict while it is being made.
func (p *Provider) take(ctx context.Context, b *box, ref berth.SandboxRef) (daytonaapi.Sandbox, error) {
	if state, known := b.present(ref.ID); known {
		if state.Status == berth.SandboxCreating {
			return daytonaapi.Sandbox{}, berth.Errorf(berth.CodeConflict, "the sandbox is not ready yet: %s", state.Detail)
		}
		return daytonaapi.Sandbox{}, errNoSandbox
	}
	s, err := p.find(ctx, ref)
	if err == nil && !s.State.Known() {
		err = unknownState(s)
	}
	return s, err
}

// until polls until is is true of a sandbox, as long as a start may take. Errors:
// conflict for one that failed; not_found; unavailable.
func (p *Provider) until(ctx context.Context, id, what string, is func(daytonaapi.Sandbox) bool) error {
	end := p.config.Clock.Now().Add(p.config.Pace.Start)
	for pause := p.config.Pace.Poll; ; pause = min(3*pause/2, 10*p.config.Pace.Poll) {
		s, err := p.client.FindSandbox(ctx, id)
		switch {
		case err != nil:
			return err
		case is(s):
			return nil
		case isGone(s):
			return errNoSandbox
		case s.State == daytonaapi.Failed || s.State == daytonaapi.BuildFailed:
			return berth.Errorf(berth.CodeConflict, "%s", (&startFailed{s.State, s.ErrorReason}).Error())
		case p.config.Clock.Now().After(end):
			return berth.Errorf(berth.CodeUnavailable, "the Daytona sandbox is not %s: its state is %q", what, s.State)
		}
		if err := p.config.Clock.Sleep(ctx, jitter(pause)); err != nil {
			return err
		}
	}
}

// Destroy deletes the sandbox. Daytona may take its time with it, which nobody
// waits for long.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	b := p.box(ref.ID)
	b.mu.Lock()
	b.ending++
	m := b.making
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ending--
	}()
	if m != nil {
		m.cancel()
		select {
		case <-m.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := p.remove(ctx, ref); err != nil {
		return err
	}
	p.Sandboxes.Forget(ref.ID)
	b.leave()
	b.mu.Lock()
	b.gone, b.failed, b.making = true, nil, nil
	b.mu.Unlock()
	return nil
}

// removals are how often a sandbox that Daytona still shows is deleted again, each
// time with Pace.Gone for it to go.
const removals = 5

// remove deletes whatever there is of a sandbox of ours. It may be called again
// after any failure. Error: unavailable when Daytona goes on showing it.
func (p *Provider) remove(ctx context.Context, ref berth.SandboxRef) error {
	for range removals {
		s, err := p.find(ctx, ref)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.client.DeleteSandbox(ctx, s.ID); err != nil && !isNotFound(err) {
			return berth.Wrap(err, "deleting the sandbox")
		}
		if err := p.untilGone(ctx, s.ID); err != nil {
			return err
		}
		if ref.Ref == s.ID {
			ref.Ref = ""
		}
	}
	return berth.Errorf(berth.CodeUnavailable, "Daytona took the deletion of the sandbox %d times and still shows it", removals)
}

// untilGone gives Daytona a moment to delete.
func (p *Provider) untilGone(ctx context.Context, id string) error {
	end := p.config.Clock.Now().Add(p.config.Pace.Gone)
	for pause := p.config.Pace.Poll / 4; ; pause = min(2*pause, 5*p.config.Pace.Poll) {
		s, err := p.client.FindSandbox(ctx, id)
		switch {
		case isNotFound(err), err == nil && s.State == daytonaapi.Destroyed:
			return nil
		case err != nil:
			return err
		case p.config.Clock.Now().After(end):
			return nil // it was accepted; the sweeper looks again
		}
		if err := p.config.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
