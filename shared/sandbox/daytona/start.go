package daytona

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// Start makes a stopped sandbox ready again, and one that failed if Daytona can
// recover it. It returns when that is done, or after a moment with a sandbox that
// is creating; it may be called again and joins what is at work. Why a start came
// to nothing meanwhile Describe tells, until the next one begins. Errors: conflict
// for one that cannot be started; not_found; unavailable.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b := p.box(ref.ID)
	if m := b.startingNow(); m != nil {
		return p.await(ctx, b, m, p.config.Pace.Restart)
	}
	s, err := p.take(ctx, b, ref)
	if err != nil {
		return berth.SandboxState{}, err
	}
	if s.State == daytonaapi.BuildFailed || s.State == daytonaapi.Failed && !s.Recoverable {
		return berth.SandboxState{}, notStartable(&startFailed{s.State, s.ErrorReason})
	}
	m := &making{work: (*making).startAgain, again: true, ref: s.ID, detail: "starting"}
	m.plan.spec = berth.SandboxSpec{ID: ref.ID, Run: berth.RunID(s.Labels[labelRun])}
	m, state, err := p.begin(b, m)
	if m == nil {
		return state, err
	}
	return p.await(ctx, b, m, p.config.Pace.Restart)
}

// startingNow is a start that is at work.
func (b *box) startingNow() *making {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil && m.again && m.active() {
		return m
	}
	return nil
}

// failedStart is why a start came to nothing whose caller left before that. The
// next start or stop forgets it.
func (b *box) failedStart() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil && m.again && !m.active() {
		return m.err
	}
	return nil
}

func (b *box) forgetStart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil && m.again && !m.active() {
		b.making = nil
	}
}

// startAgain starts the sandbox and its guest, whatever of that has been done.
func (m *making) startAgain(ctx context.Context, b *box) {
	p, ref := m.provider, berth.SandboxRef{ID: m.plan.spec.ID, Ref: m.ref}
	l, err := m.start(ctx, b, ref)
	var bad *unfit
	var failed *startFailed
	switch {
	case err == nil:
		m.result = p.stateOf(l.sandbox, ref.ID)
		return
	case errors.Is(err, context.Canceled):
		err = berth.Errorf(berth.CodeUnavailable, "starting the sandbox was interrupted")
	case errors.As(err, &failed):
		err = notStartable(failed)
	case errors.As(err, &bad):
		code := berth.CodeUnavailable
		if bad.reason.Code == berth.ReasonLost {
			code = berth.CodeNotFound
		}
		err = &berth.Error{Code: code, Message: bad.reason.Message, Remediation: bad.reason.Remediation}
	}
	p.config.Logger.Warn("a sandbox is not started", "sandbox", ref.ID, "error", err)
	m.err = err
}

func notStartable(f *startFailed) error { return berth.Errorf(berth.CodeConflict, "%s", f.Error()) }

func (m *making) start(ctx context.Context, b *box, ref berth.SandboxRef) (*live, error) {
	p := m.provider
	s, err := p.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch s.State {
	case daytonaapi.Started:
	case daytonaapi.Failed:
		err = p.client.RecoverSandbox(ctx, s.ID)
	default:
		err = p.client.StartSandbox(ctx, s.ID)
	}
	if err != nil {
		return nil, berth.Wrap(err, "starting the sandbox")
	}
	if s, err = p.client.FindSandbox(ctx, s.ID); err != nil {
		return nil, err
	}
	if s, err = m.awaitStarted(ctx, s); err != nil {
		return nil, err
	}
	m.tell("preparing")
	if s.Labels[labelEphemeral] == "true" {
		if err := p.client.SetAutoDelete(ctx, s.ID, 0); err != nil {
			return nil, berth.Wrap(err, "making the sandbox ephemeral again")
		}
	}
	return p.resume(ctx, b.fresh(s), ref)
}
