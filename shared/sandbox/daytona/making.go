package daytona

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// making is a sandbox that is being made, or started again. The work goes on only
// while somebody asks for it: a function that was frozen in it and thawed much
// later must not make what nobody wants any more.
type making struct {
	provider *Provider
	plan     plan // of a start, the sandbox alone
	again    bool // it is started again: what it comes to leaves the sandbox as it is
	work     func(m *making, ctx context.Context, b *box)
	cancel   context.CancelFunc
	done     chan struct{} // closed when result or err is set
	result   berth.SandboxState
	reason   *berth.Reason
	err      error // of what may be tried again

	builds, sandboxes int  // how many of them failed so far
	asksBuild         bool // that a build was asked for

	mu     sync.Mutex // guards all below
	asked  time.Time
	detail string
	ref    string
}

const interest = time.Minute

var errNobodyAsks = berth.Errorf(berth.CodeUnavailable, "making the sandbox was interrupted")

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
	m.asked = m.provider.config.Clock.Now()
}

// wanted is asked before each thing that is made.
func (m *making) wanted() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.provider.config.Clock.Now().Sub(m.asked) > interest {
		return errNobodyAsks
	}
	return nil
}

func (m *making) tell(detail string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.detail = detail
}

func (m *making) refer(ref string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ref = ref
}

// state is how far it is. Who reads it wants it to go on.
func (m *making) state(id berth.SandboxID) berth.SandboxState {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = m.provider.config.Clock.Now()
	return berth.SandboxState{ID: id, Run: m.plan.spec.Run, Status: berth.SandboxCreating, Ref: m.ref, Detail: m.detail}
}

// pause rests before the next look.
func (m *making) pause(ctx context.Context, d time.Duration) error {
	if err := m.provider.config.Clock.Sleep(ctx, jitter(d)); err != nil {
		return err
	}
	return m.wanted()
}
