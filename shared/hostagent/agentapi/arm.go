package agentapi

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// maxArmings bounds what is watched at a time. A run has one at most.
	maxArmings = 1024
	// armLife is twice the time after which the control plane looks by itself: what
	// it wants any longer, it arms again.
	armLife = 2 * time.Minute
)

// Arm is the body of an arming: the offset from which on output is news.
type Arm struct {
	Offset int64 `json:"offset"`
}

// armings are the commands whose next output or end the control plane is to be
// told of. They are kept in memory alone.
type armings struct {
	nudge func(berth.Nudge)
	clock berth.Clock
	work  sync.WaitGroup
	base  context.Context
	stop  context.CancelFunc

	mu     sync.Mutex // guards what follows
	armed  map[armKey]*arming
	closed bool
}

type armKey struct {
	kind    berth.ProviderKind
	sandbox berth.SandboxID
	command berth.CommandID
}

// arming ends with one nudge, or without one when its time is over.
type arming struct {
	offset int64
	until  time.Time          // guarded by armings.mu
	cancel context.CancelFunc // for one that another offset replaces
}

func newArmings(nudge func(berth.Nudge), clock berth.Clock) *armings {
	a := &armings{nudge: nudge, clock: clock, armed: map[armKey]*arming{}}
	a.base, a.stop = context.WithCancel(context.Background())
	return a
}

func (a *armings) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.work.Wait()
}

// arm nudges at once when there is news already. It is news what lies behind the
// offset when it is read, so nothing falls between a reader's last look and this.
func arm(x *exchange) error {
	a := x.server.armings
	if a.nudge == nil {
		return &berth.Error{
			Code: berth.CodeUnsupported, Message: "this host agent has not joined, and nudges nobody",
			Remediation: "Run `berth-agent join` on the host.",
		}
	}
	var body Arm
	if err := x.decode(&body); err != nil {
		return err
	}
	out, err := x.provider.ReadOutput(x.r.Context(), x.ref, x.command, body.Offset, 1, 0)
	if err != nil {
		return err
	}
	k := armKey{x.provider.Kind(), x.ref.ID, x.command}
	if news(out) {
		a.disarm(k)
		a.nudge(k.message())
	} else if err := a.add(k, x.provider, x.ref, body.Offset); err != nil {
		return err
	}
	return x.answer(nil)
}

func news(out berth.Output) bool { return len(out.Bytes) > 0 || out.Ended }

func (k armKey) message() berth.Nudge { return berth.Nudge{Sandbox: k.sandbox, Command: k.command} }

// add watches from offset on. One that is there with the same offset lives on
// instead. Errors: rate_limited, unavailable.
func (a *armings) add(k armKey, provider berth.Provider, ref berth.SandboxRef, offset int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.clock.Now().Add(armLife)
	was := a.armed[k]
	switch {
	case a.closed:
		return berth.Errorf(berth.CodeUnavailable, "the host agent is ending")
	case was != nil && was.offset == offset:
		was.until = until
		return nil
	case was != nil:
		was.cancel()
	case len(a.armed) >= maxArmings:
		return berth.Errorf(berth.CodeRateLimited, "the host agent watches %d commands already, which is all that it does at a time", maxArmings)
	}
	ctx, cancel := context.WithCancel(a.base)
	v := &arming{offset: offset, until: until, cancel: cancel}
	a.armed[k] = v
	a.work.Go(func() {
		defer cancel()
		if a.watch(ctx, k, v, provider, ref) {
			a.nudge(k.message())
		}
	})
	return nil
}

// watch returns true when there is news and the arming is still wanted. What cannot be
// read any more is news too: whoever looks finds out why.
func (a *armings) watch(ctx context.Context, k armKey, v *arming, provider berth.Provider, ref berth.SandboxRef) bool {
	for {
		out, err := provider.ReadOutput(ctx, ref, k.command, v.offset, 1, MaxWait)
		if ctx.Err() != nil { // replaced, disarmed, or the agent ends
			return false
		}
		if err != nil || news(out) {
			return a.remove(k, v)
		}
		a.mu.Lock()
		over := !a.clock.Now().Before(v.until)
		if over && a.armed[k] == v {
			delete(a.armed, k)
		}
		a.mu.Unlock()
		if over {
			return false
		}
	}
}

// remove forgets v; false when another has taken its place.
func (a *armings) remove(k armKey, v *arming) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.armed[k] != v {
		return false
	}
	delete(a.armed, k)
	return true
}

// disarm drops what is armed for a command.
func (a *armings) disarm(k armKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v := a.armed[k]; v != nil {
		v.cancel()
		delete(a.armed, k)
	}
}
