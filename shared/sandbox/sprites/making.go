package sprites

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// making is a sandbox that is being made, which takes longer than a caller may
// wait. The work goes on only while somebody asks for it: a function that was
// frozen in it and thawed much later must not make what nobody wants any more.
type making struct {
	plan   plan
	clock  berth.Clock
	cancel context.CancelFunc
	done   chan struct{} // closed when state and err are set
	state  berth.SandboxState
	err    error

	mu     sync.Mutex // guards all below
	asked  time.Time
	detail string
}

const (
	// interest is how long nobody may ask before the next step is not begun.
	interest = time.Minute
	// rememberedFor is how long a result waits for who asks.
	rememberedFor = time.Hour
)

// begin starts the work, or joins it; a result that no Provision has told yet is
// joined too. Error: unavailable when the provider is closed.
func (p *Provider) begin(pl plan) (*making, error) {
	now := p.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.makings {
		if other.forgotten(now) {
			delete(p.makings, id)
		}
	}
	if m := p.makings[pl.spec.ID]; m != nil {
		m.ask()
		return m, nil
	}
	if p.over {
		return nil, berth.Errorf(berth.CodeUnavailable, "the provider has been closed")
	}
	m := &making{plan: pl, clock: p.config.Clock, done: make(chan struct{}), asked: now, detail: "waiting for its turn"}
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	p.work.Go(func() {
		defer m.cancel()
		m.state, m.err = p.makeOrRemove(ctx, m)
		close(m.done)
		if m.err != nil { // nobody may ask for it
			p.config.Logger.Warn("a sandbox is not made", "sandbox", string(pl.spec.ID), "error", m.err)
		}
	})
	p.makings[pl.spec.ID] = m
	return m, nil
}

// making is what is being made of a sandbox, or a result that no Provision has told.
func (p *Provider) making(id berth.SandboxID) *making {
	now := p.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.makings[id]; m != nil && m.forgotten(now) {
		delete(p.makings, id)
	}
	return p.makings[id]
}

// told forgets a result: Provision tells it once.
func (p *Provider) told(id berth.SandboxID, m *making) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.makings[id] == m {
		delete(p.makings, id)
	}
}

// abandon ends the making of a sandbox that is not wanted any more.
func (p *Provider) abandon(ctx context.Context, id berth.SandboxID) error {
	m := p.making(id)
	if m == nil {
		return nil
	}
	m.cancel()
	select {
	case <-m.done:
		p.told(id, m)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *making) active() bool {
	select {
	case <-m.done:
		return false
	default:
		return true
	}
}

func (m *making) ask() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = m.clock.Now()
}

// forgotten reports whether a result has waited too long.
func (m *making) forgotten(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.active() && now.Sub(m.asked) > rememberedFor
}

// begins says what comes next, unless nobody wants it.
func (m *making) begins(what string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock.Now().Sub(m.asked) > interest {
		return errInterrupted
	}
	m.detail = what
	return nil
}

func (m *making) tell(detail string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.detail = detail
}

// creating is how far it is. Who reads it wants it to go on.
func (m *making) creating() berth.SandboxState {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = m.clock.Now()
	return berth.SandboxState{
		ID: m.plan.spec.ID, Run: m.plan.spec.Run, Status: berth.SandboxCreating, Ref: m.plan.name, Detail: m.detail,
	}
}

var errInterrupted = berth.Errorf(berth.CodeUnavailable, "making the sandbox was interrupted")

// interrupted gives the end of ctx, which the caller of Provision has not made, its
// code.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
