package daytona

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// Provision begins to make a sandbox, or goes on where another process was cut
// off. It returns when that is done, or after a moment. A sandbox that cannot be
// made is told as failed with its reason, and nothing of it is left behind; while
// Daytona does not answer, Provision is unavailable and may be called again.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if !berth.IsULID(string(spec.ID)) {
		return berth.SandboxState{}, berth.FieldErrorf(berth.CodeInvalid, "sandbox", "must be a lower-case ULID")
	}
	plan, err := p.plan(ctx, spec)
	if err != nil {
		return berth.SandboxState{}, err
	}
	b := p.box(spec.ID)
	m, state, err := p.begin(b, &making{plan: plan, work: (*making).makeOrAbandon})
	if m == nil {
		return state, err
	}
	return p.await(ctx, b, m, p.config.Pace.Provision)
}

// await waits a moment for what is being made.
func (p *Provider) await(ctx context.Context, b *box, m *making, moment time.Duration) (berth.SandboxState, error) {
	spec := m.plan.spec
	m.ask()
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-m.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	if m.active() {
		return m.state(spec.ID), nil
	}
	if m.reason != nil {
		return berth.SandboxState{ID: spec.ID, Run: spec.Run, Status: berth.SandboxFailed, Reason: m.reason}, nil
	}
	if m.err != nil {
		b.told(m)
		return berth.SandboxState{}, m.err
	}
	return m.result, nil
}

// told forgets work that did not succeed: who acts is told once, and the next call
// goes on.
func (b *box) told(m *making) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.making == m {
		b.making = nil
	}
}

// interrupted is a making that came to nothing and that Provision has not told yet.
func (b *box) interrupted() *making {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil && !m.again && !m.active() && m.err != nil {
		return m
	}
	return nil
}

// begin starts the work of fresh, or joins what is at work; nil when the box says
// all there is to say.
func (p *Provider) begin(b *box, fresh *making) (*making, berth.SandboxState, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := fresh.plan.spec.ID
	switch m := b.making; {
	case b.gone:
		return nil, berth.SandboxState{ID: id, Status: berth.SandboxGone}, nil
	case b.failed != nil:
		return nil, berth.SandboxState{ID: id, Run: fresh.plan.spec.Run, Status: berth.SandboxFailed, Reason: b.failed}, nil
	case b.ending > 0:
		return nil, berth.SandboxState{}, berth.Errorf(berth.CodeUnavailable, "the sandbox is being destroyed")
	case m != nil && (m.active() || m.err != nil && !m.again):
		return m, berth.SandboxState{}, nil
	}
	m := fresh
	m.provider, m.done, m.asked = p, make(chan struct{}), p.config.Clock.Now()
	var ctx context.Context
	ctx, m.cancel = p.untilClosed()
	if !p.spawn(func() {
		defer close(m.done)
		defer m.cancel()
		m.work(m, ctx, b)
	}) {
		m.cancel()
		return nil, berth.SandboxState{}, berth.Errorf(berth.CodeUnavailable, "the server is ending")
	}
	b.making = m
	return m, berth.SandboxState{}, nil
}

// makeOrAbandon makes the sandbox. What is at fault for good ends it, and what was
// made of it; an error means that the same may be tried again.
func (m *making) makeOrAbandon(ctx context.Context, b *box) {
	l, err := m.make(ctx)
	logger := m.provider.config.Logger.With("sandbox", m.plan.spec.ID)
	var bad *unfit
	var failed *startFailed
	switch code := berth.CodeOf(err); {
	case err == nil:
		m.result = m.provider.stateOf(l.sandbox, m.plan.spec.ID)
		b.setLive(l)
		return
	case errors.Is(err, context.Canceled):
		m.err = berth.Errorf(berth.CodeUnavailable, "making the sandbox was interrupted")
		return
	case errors.As(err, &bad):
		m.reason = bad.reason
	case errors.As(err, &failed):
		m.reason = &berth.Reason{Code: berth.ReasonProvisionFailed, Message: failed.Error()}
	case code == berth.CodeUnavailable || code == berth.CodeTimedOut || code == berth.CodeRateLimited || code == berth.CodeInternal:
		logger.Warn("making a sandbox is interrupted", "error", err)
		m.err = err
		return
	default:
		m.reason = reasonOf(err)
	}
	logger.Warn("a sandbox could not be made", "reason", m.reason.Message)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	if err := m.provider.remove(ctx, berth.SandboxRef{ID: m.plan.spec.ID}); err != nil {
		// Told as failed all the same: the run's teardown destroys it again, and the
		// sweeper after that.
		logger.Warn("a sandbox that could not be made is not removed yet", "error", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = m.reason
}

const abandonLimit = 3 * time.Minute

// unfit is the end of a sandbox that cannot be made.
type unfit struct{ reason *berth.Reason }

func (u *unfit) Error() string { return u.reason.Message }

func unfitf(code, remediation, message string) error {
	return &unfit{&berth.Reason{Code: code, Message: message, Remediation: remediation}}
}

// reasonOf makes a reason of an error, whose cause stays in the log.
func reasonOf(err error) *berth.Reason {
	var e *berth.Error
	if !errors.As(err, &e) {
		return &berth.Reason{Code: berth.ReasonProvisionFailed, Message: err.Error()}
	}
	shown := *e
	shown.Cause = nil
	return &berth.Reason{Code: berth.ReasonProvisionFailed, Message: shown.Error(), Remediation: e.Remediation}
}

// make goes through the steps of making, each of which may have been done already.
func (m *making) make(ctx context.Context) (*live, error) {
	p, id := m.provider, m.plan.spec.ID
	for {
		s, err := p.find(ctx, berth.SandboxRef{ID: id})
		if isNotFound(err) {
			if err := m.readySnapshot(ctx); err != nil {
				return nil, err
			}
			s, err = m.create(ctx)
		}
		if err != nil {
			return nil, err
		}
		m.refer(s.ID)
		s, err = m.awaitStarted(ctx, s)
		var again *startFailed
		if errors.As(err, &again) && m.sandboxes == 0 {
			// Some fail for no reason of ours (a VM's "internal error" after a minute).
			m.sandboxes++
			m.tell("starting again: " + again.Error())
			if err := p.remove(ctx, berth.SandboxRef{ID: id, Ref: s.ID}); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		m.tell("preparing")
		return m.equip(ctx, s)
	}
}

func isNotFound(err error) bool { return berth.CodeOf(err) == berth.CodeNotFound }

// startFailed is the end of a sandbox that did not start.
type startFailed struct {
	state  daytonaapi.State
	reason string
}

func (f *startFailed) Error() string {
	message := "the Daytona sandbox is in state " + string(f.state)
	if f.reason != "" {
		message += ": " + f.reason
	}
	return message
}
