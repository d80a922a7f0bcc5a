//go:build linux

package docker

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Describe returns status gone for a sandbox that is not there. The engine is
// asked only about one that is recorded nowhere.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return p.describeUnknown(ctx, ref.ID)
	}
	state := b.state()
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil && state.Status == berth.SandboxCreating && !m.active() && m.err != nil {
		state.Detail = m.err.Error() // Provision tells it too, and then goes on
	}
	return state, nil
}

// stopLimit is the time that a guest has to end its commands and itself.
const stopLimit = 30 * time.Second

// Stop ends the commands and the container; files and outputs stay.
func (p *Provider) Stop(ctx context.Context, ref berth.SandboxRef) error {
	b, unlock, err := p.take(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer unlock()
	// Recorded first: a stop that is cut short is not a guest that was lost.
	if err := b.record(func(m *meta) { m.Status, m.Reason = berth.SandboxStopped, nil }); err != nil {
		return err
	}
	return b.stop(ctx)
}

// take finds a sandbox that has been made and takes its life.
func (p *Provider) take(ctx context.Context, id berth.SandboxID) (*box, func(), error) {
	b, err := p.boxes.Find(id)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone || b.agent == nil {
		unlock()
		return nil, nil, hostagent.ErrNoSandbox
	}
	return b, unlock, nil
}

// stop is Stop with life held.
func (b *box) stop(ctx context.Context) error {
	guest := b.beginEnding()
	defer b.stopEnding()
	if guest == nil {
		return b.kill(ctx) // somebody may have started it without us
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	// Whether it answers or not, nothing may be left of it.
	if err := b.stopGuest(ctx); err != nil {
		b.logger().Warn("a guest did not stop by itself", "error", err)
	} else {
		b.waitFor(ctx, guest.ended, time.Second)
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if guest.Alive() {
		if err := b.kill(ctx); err != nil {
			return err
		}
	}
	if !b.waitFor(ctx, guest.ended, stopLimit) {
		return berth.Errorf(berth.CodeUnavailable, "the sandbox's container is still running")
	}
	return b.settle(ctx)
}

// stopGuest asks the guest to end, wherever its agent is.
func (b *box) stopGuest(ctx context.Context) error {
	if b.present().attached() {
		return b.provider.far.Stop(ctx, berth.SandboxRef{ID: b.id})
	}
	return b.agent.Stop(ctx)
}

// settle waits until the engine too knows that the container has ended: one that
// it takes for running cannot be started. An engine that does not answer will
// find out by itself.
func (b *box) settle(ctx context.Context) error {
	name := b.container()
	err := b.provider.engine.call(ctx, "waiting for the container's end", func(ctx context.Context) error {
		wait := b.provider.engine.api.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		select {
		case <-wait.Result:
			return nil
		case err := <-wait.Error:
			return err
		}
	})
	if code := berth.CodeOf(err); code == berth.CodeNotFound || code == berth.CodeUnavailable {
		return nil
	}
	return err
}

// beginEnding keeps the watcher of the guest from taking its end for an accident.
func (b *box) beginEnding() *guestProcess {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = true
	return b.guest
}

func (b *box) stopEnding() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = false
}

// Start makes a stopped or failed sandbox ready again. What was read is
// forgotten: guards begin anew. A container that was removed from outside is
// not_found.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b, unlock, err := p.take(ctx, ref.ID)
	if err != nil {
		return berth.SandboxState{}, err
	}
	defer unlock()
	if state := b.state(); state.Status == berth.SandboxReady {
		return state, nil
	}
	b.mu.Lock()
	b.fault = ""
	_, leftOver := b.meta.guest(p.boot)
	leftOver = leftOver && b.guest == nil
	b.mu.Unlock()
	if leftOver { // of a stop that was cut short
		if err := errors.Join(b.kill(ctx), b.settle(ctx)); err != nil {
			return berth.SandboxState{}, err
		}
	}
	reason, err := b.run(ctx)
	if err != nil {
		if berth.CodeOf(err) == berth.CodeForbidden { // a mount that is no longer what was allowed
			reason = reasonOf(err)
		} else {
			return berth.SandboxState{}, err
		}
	}
	if reason != nil {
		if err := b.record(func(m *meta) { m.Status, m.Reason = berth.SandboxFailed, reason }); err != nil {
			return berth.SandboxState{}, err
		}
		if err := b.stop(context.WithoutCancel(ctx)); err != nil {
			return berth.SandboxState{}, err
		}
	}
	return b.state(), nil
}

// Destroy removes the container with its volumes, and the folder.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return p.destroyUnknown(ctx, ref.ID)
	}
	b.mu.Lock()
	if b.making != nil {
		b.making.cancel()
	}
	b.mu.Unlock()
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.remove(ctx); err != nil {
		return err
	}
	b.provider.boxes.Forget(b.id, b)
	return nil
}

// remove leaves nothing of b; life is held. It may be called again after any
// failure.
func (b *box) remove(ctx context.Context) error {
	b.mu.Lock()
	agent, gone := b.agent, b.gone
	b.mu.Unlock()
	if gone {
		return nil
	}
	if agent != nil {
		if err := b.record(func(m *meta) { m.Status = berth.SandboxDestroyed }); err != nil && !errors.Is(err, os.ErrNotExist) {
			// On a full disk it is destroyed all the same; only a server that dies
			// in the middle would not know.
			b.logger().Warn("a sandbox is destroyed without a record of it", "error", err)
		}
		guest := b.beginEnding()
		defer b.stopEnding()
		if err := b.removeContainer(ctx); err != nil {
			return err
		}
		if guest != nil && !b.waitFor(ctx, guest.ended, stopLimit) {
			return berth.Errorf(berth.CodeUnavailable, "the sandbox's guest is still there")
		}
		agent.End()
		b.provider.far.Forget(b.id)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return berth.Wrap(err, "removing a sandbox's folder")
	}
	b.mu.Lock()
	b.gone = true
	b.mu.Unlock()
	return nil
}
