//go:build linux

package local

import (
	"context"
	"os"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Describe returns status gone for a sandbox that is not there.
func (p *Provider) Describe(_ context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	return b.state(), nil
}

// stopLimit is the time that a guest has to end its commands and itself.
const stopLimit = 30 * time.Second

// Stop ends the commands and the guest; outputs stay readable.
func (p *Provider) Stop(ctx context.Context, ref berth.SandboxRef) error {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return err
	}
	b.life.Lock()
	defer b.life.Unlock()
	if b.gone || b.agent == nil {
		return berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	// Recorded first: a stop that is cut short is not a guest that was lost.
	if err := b.record(func(m *meta) { m.Status = berth.SandboxStopped }); err != nil {
		return err
	}
	guest, m := b.beginEnding()
	defer b.stopEnding()
	if guest == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	// Whether it answers or not, nothing may be left of it.
	if err := b.agent.Stop(ctx); err != nil {
		p.config.Logger.Warn("a guest did not stop by itself", "sandbox", string(b.id), "error", err)
	} else {
		waitFor(ctx, guest.ended, time.Second)
	}
	if !b.endProcesses(context.WithoutCancel(ctx), m) || !waitFor(ctx, guest.ended, endLimit) {
		return berth.Errorf(berth.CodeUnavailable, "processes of the sandbox are still there")
	}
	return nil
}

// beginEnding keeps the watcher of the guest from doing what the caller does.
func (b *box) beginEnding() (*guestProcess, meta) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = true
	return b.guest, b.meta
}

func (b *box) stopEnding() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = false
}

// waitFor reports whether done was closed in time.
func waitFor(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Start makes a stopped or failed sandbox ready again. What was read is
// forgotten: guards begin anew.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return berth.SandboxState{}, err
	}
	b.life.Lock()
	defer b.life.Unlock()
	if b.gone || b.agent == nil {
		return berth.SandboxState{}, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	if b.state().Status == berth.SandboxReady {
		return b.state(), nil
	}
	reason := p.refuse(berth.SandboxSpec{Directory: b.meta.Workspace})
	if reason == nil {
		reason, err = b.run(ctx)
	}
	if err != nil {
		return berth.SandboxState{}, err
	}
	if reason != nil {
		if err := b.record(func(m *meta) { m.Status, m.Reason = berth.SandboxFailed, reason }); err != nil {
			return berth.SandboxState{}, err
		}
		b.endProcesses(context.WithoutCancel(ctx), b.meta)
	}
	return b.state(), nil
}

// Destroy ends every process of the sandbox and removes its folder. The
// workspace stays: it is the user's.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return nil
	}
	b.life.Lock()
	defer b.life.Unlock()
	return b.destroy(ctx)
}

// destroy is Destroy with life held. It may be called again after any failure.
func (b *box) destroy(ctx context.Context) error {
	if b.agent != nil && !b.gone {
		if err := b.record(func(m *meta) { m.Status = berth.SandboxDestroyed }); err != nil && !os.IsNotExist(err) {
			// On a full disk it is destroyed all the same; only a server that dies
			// in the middle would not know.
			b.provider.config.Logger.Warn("a sandbox is destroyed without a record of it", "sandbox", string(b.id), "error", err)
		}
		guest, m := b.beginEnding()
		defer b.stopEnding()
		if !b.endProcesses(ctx, m) {
			return berth.Errorf(berth.CodeUnavailable, "processes of the sandbox are still there")
		}
		if guest != nil && !waitFor(ctx, guest.ended, endLimit) {
			return berth.Errorf(berth.CodeUnavailable, "the sandbox's guest is still there")
		}
		b.agent.End()
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return berth.Wrap(err, "removing a sandbox's folder")
	}
	b.mu.Lock()
	b.gone = true
	b.mu.Unlock()
	b.provider.boxes.Forget(b.id, b)
	return nil
}
