//go:build linux

package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// making is a sandbox that is being made in the background.
type making struct {
	spec     berth.SandboxSpec
	cancel   context.CancelFunc
	done     chan struct{} // closed when err is set
	slow     chan struct{} // closed when it turns out to take long
	slowOnce sync.Once
	err      error // of what may be tried again
}

// active reports whether the work goes on.
func (m *making) active() bool {
	select {
	case <-m.done:
		return false
	default:
		return true
	}
}

func (m *making) tellSlow() { m.slowOnce.Do(func() { close(m.slow) }) }

// provisionWait is how long Provision waits for a sandbox that needs nothing but
// its start: whoever asked is spared to ask again.
const provisionWait = time.Second

// Provision begins to make a container, or goes on where an earlier server was
// cut off. It returns when that is done, when an image has to be pulled, or after
// a second. A container that cannot be made is told as a state failed with its
// reason, and nothing is left behind; while the engine does not answer, Provision
// is unavailable and may be called again.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := spec.Check(berth.ProviderDocker); err != nil {
		return berth.SandboxState{}, err
	}
	p.purge()
	b := p.boxes.Claim(spec.ID, p.newBox)
	m, err := b.beginMaking(spec)
	if m == nil {
		return b.state(), err
	}
	timer := time.NewTimer(provisionWait)
	defer timer.Stop()
	select {
	case <-m.done:
		return b.madeState(m)
	case <-m.slow:
	case <-timer.C:
	case <-ctx.Done():
	}
	return b.state(), nil
}

// beginMaking starts the work, or joins it; nil when there is none to do. An
// error of the last attempt is told once, before the next one.
func (b *box) beginMaking(spec berth.SandboxSpec) (*making, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.making; m != nil {
		if m.active() {
			return m, nil
		}
		b.making = nil
		if m.err != nil {
			return nil, m.err
		}
	}
	if b.failed != nil || b.gone || b.agent != nil && b.meta.Status != berth.SandboxCreating {
		return nil, nil
	}
	if b.provider.isClosed() {
		return nil, berth.Errorf(berth.CodeUnavailable, "the server is ending")
	}
	m := &making{spec: spec, done: make(chan struct{}), slow: make(chan struct{})}
	var ctx context.Context
	ctx, m.cancel = b.provider.untilClosed()
	b.making = m
	b.provider.work.Go(func() {
		defer m.cancel()
		m.err = b.makeOrAbandon(ctx, spec)
		b.setDetail("")
		close(m.done)
	})
	return m, nil
}

// madeState is the result for a caller who saw the end of m.
func (b *box) madeState(m *making) (berth.SandboxState, error) {
	b.mu.Lock()
	if b.making == m {
		b.making = nil
	}
	b.mu.Unlock()
	if m.err != nil {
		return berth.SandboxState{}, m.err
	}
	return b.state(), nil
}

// makeOrAbandon makes the sandbox. What is at fault for good ends it; an error
// means that the same may be tried again.
func (b *box) makeOrAbandon(ctx context.Context, spec berth.SandboxSpec) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if b.isGone() {
		return nil
	}
	reason, err := b.make(ctx, spec)
	switch code := berth.CodeOf(err); {
	case reason != nil:
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled): // by Close or Destroy
		return err
	case code == berth.CodeUnavailable || code == berth.CodeTimedOut:
		b.logger().Warn("making a sandbox is interrupted", "error", err)
		return err
	default:
		reason = reasonOf(err)
	}
	b.logger().Warn("a sandbox could not be made", "reason", reason.Message, "error", err)
	return b.abandon(ctx, reason)
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

func (b *box) isGone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// abandon removes a sandbox that could not be made, and remembers why.
func (b *box) abandon(ctx context.Context, reason *berth.Reason) error {
	if err := b.remove(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed, b.failedAt = reason, b.provider.config.Clock.Now()
	return nil
}

// make goes through the steps of making, each of which may have been done
// already; life is held.
func (b *box) make(ctx context.Context, spec berth.SandboxSpec) (*berth.Reason, error) {
	p, err := b.provider.plan(spec)
	if err != nil {
		return nil, err
	}
	if b.noFolder() {
		b.setDetail("looking at the Docker engine")
		transport, _, err := b.provider.Transport(ctx)
		if err != nil {
			return nil, err
		}
		b.setDetail("")
		if err := b.create(p, transport); err != nil {
			return nil, err
		}
	}
	if b.present().Container == "" {
		if reason, err := b.makeContainer(ctx, p); reason != nil || err != nil {
			return reason, err
		}
	}
	b.setDetail("starting")
	return b.run(ctx)
}

func (b *box) noFolder() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.agent == nil
}

// plan checks all that can be checked before anything is made. Errors: invalid,
// forbidden, unsupported.
func (p *Provider) plan(spec berth.SandboxSpec) (plan, error) {
	out := plan{spec: spec}
	e := spec.Environment
	image := berth.DefaultDockerImage
	if e.Image.Docker != nil && *e.Image.Docker != "" {
		image = *e.Image.Docker
	}
	var err error
	if _, out.image, err = reference(image); err != nil {
		return out, err
	}
	if out.network, err = p.config.Policy.network(e); err != nil {
		return out, err
	}
	if out.binds, err = p.config.Policy.binds(e, p.guarded); err != nil {
		return out, err
	}
	if e.Resources.Memory != nil {
		if out.memory, err = e.Resources.Memory.Bytes(); err != nil {
			return out, err
		}
	}
	if e.Resources.CPU != nil {
		out.cpu = *e.Resources.CPU
	}
	return out, nil
}

// create makes the folder, the record first.
func (b *box) create(p plan, transport Transport) error {
	m := meta{
		ID: b.id, Installation: b.provider.config.Installation, Run: p.spec.Run, Status: berth.SandboxCreating,
		Binds: p.binds, Transport: transport, CreatedAt: b.provider.config.Clock.Now(),
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil && !os.IsExist(err) {
		return hostagent.DiskError("making a sandbox's folder", err)
	}
	if err := m.write(b.dir); err != nil {
		_ = os.RemoveAll(b.dir) // on a full disk the folder says nothing
		return err
	}
	return b.open(m)
}

// makeContainer finds the image and makes the container from it.
func (b *box) makeContainer(ctx context.Context, p plan) (*berth.Reason, error) {
	image, reason, err := b.findImage(ctx, p)
	if reason != nil || err != nil {
		return reason, err
	}
	guest, err := b.provider.config.Guest(image.arch)
	if err == nil {
		guest, err = filepath.Abs(guest)
	}
	if err != nil {
		return nil, err
	}
	if b.present().attached() {
		if err := b.createVolume(ctx, p.spec.Run); err != nil {
			return nil, err
		}
	}
	id, err := b.createContainer(ctx, p, image, guest)
	if err != nil {
		return nil, err
	}
	return nil, b.record(func(m *meta) { m.Container, m.Arch = id, image.arch })
}
