//go:build linux

package docker

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// attach makes a container's configuration that of one whose guest is its own
// agent.
func (b *box) attach(config *container.Config, host *container.HostConfig, guestArgs []string) {
	// With labels: an engine that is late makes the volume again that is gone by then.
	options := &mount.VolumeOptions{NoCopy: true, Labels: config.Labels}
	config.Entrypoint = append([]string{socketTarget + "/" + wire.ContainedGuest, "contain", "-root", socketTarget}, guestArgs...)
	config.OpenStdin, config.AttachStdin, config.AttachStdout = true, true, true
	// Nothing of what is said may be kept: files and secrets are among it.
	host.LogConfig = container.LogConfig{Type: "none"}
	host.Mounts = append([]mount.Mount{{
		Type: mount.TypeVolume, Source: volumeName(b.id), Target: socketTarget, VolumeOptions: options,
	}}, host.Mounts...)
}

// startAttached gives a sandbox a new start whose guest is its own agent.
func (b *box) startAttached(ctx context.Context, start string) (*berth.Reason, error) {
	found, err := b.inspect(ctx)
	if err != nil {
		return nil, err
	}
	if found.State != nil && found.State.Running { // by a server that died then, or from outside
		if err := errors.Join(b.kill(ctx), b.settle(ctx)); err != nil {
			return nil, err
		}
	}
	if err := b.record(func(m *meta) { m.SandboxStart, m.StartedAt = start, "" }); err != nil {
		return nil, err
	}
	b.provider.far.Forget(b.id)
	if err := b.dropSpools(); err != nil {
		return nil, err
	}
	if err := b.load(ctx, start); err != nil {
		return nil, err
	}
	name := b.container()
	whole, cancel := b.provider.untilClosed() // see createContainer
	defer cancel()
	err = b.provider.engine.call(whole, "starting the container", func(ctx context.Context) error {
		_, err := b.provider.engine.api.ContainerStart(ctx, name, client.ContainerStartOptions{})
		return err
	})
	if err == nil {
		found, err = b.inspect(ctx)
	}
	if err != nil {
		return nil, err
	}
	if found.State == nil || !found.State.Running {
		return b.notStarted(found), nil
	}
	if err := b.record(func(m *meta) { m.StartedAt, m.Volumes = found.State.StartedAt, volumesOf(found) }); err != nil {
		return nil, err
	}
	b.watchAttached()
	return nil, nil
}

// load puts the guest into the container's volume, and what it is to know of its
// start. It is not put into the container itself, which may be read-only.
func (b *box) load(ctx context.Context, start string) error {
	m := b.present()
	guest, err := b.provider.config.Guest(m.Arch)
	if err == nil {
		guest, err = filepath.Abs(guest)
	}
	if err != nil {
		return err
	}
	boot := wire.Boot{Start: start}
	for _, e := range m.Ends {
		boot.Ends = append(boot.Ends, wire.BootEnd{Start: e.Start, Exit: e.exit()})
	}
	text, err := json.Marshal(boot)
	if err != nil {
		return err
	}
	return b.copyIn(ctx, socketTarget, entry{name: wire.ContainedGuest, path: guest, mode: 0o755}, entry{name: wire.ContainedBoot, text: text, mode: 0o600})
}

// copyIn writes files into a folder of the container.
func (b *box) copyIn(ctx context.Context, folder string, files ...entry) error {
	name := b.container()
	return b.provider.engine.call(ctx, "copying into container "+name, func(ctx context.Context) error {
		content, stop := pack(files...)
		defer stop()
		_, err := b.provider.engine.api.CopyToContainer(ctx, name, client.CopyToContainerOptions{DestinationPath: folder, Content: content})
		return err
	})
}

// watchAttached waits for the end of the container, by the engine's word.
func (b *box) watchAttached() {
	var over atomic.Bool
	guest := &guestProcess{func() bool { return !over.Load() }, make(chan struct{})}
	b.mu.Lock()
	b.guest, b.away = guest, false
	b.mu.Unlock()
	b.provider.work.Go(func() {
		ctx, cancel := b.provider.untilClosed()
		defer cancel()
		if !b.awaitEnd(ctx) {
			return
		}
		over.Store(true)
		b.died()
		close(guest.ended)
	})
}

// awaitEnd reports false when the provider was closed first.
func (b *box) awaitEnd(ctx context.Context) bool {
	for pause := pauseMin; ctx.Err() == nil; pause = min(2*pause, pauseMax) {
		found, err := b.inspect(ctx)
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound:
			return true
		case err == nil && (found.State == nil || !found.State.Running || !b.sameStart(found.State)):
			return true
		case err == nil:
			if err = b.waitNotRunning(ctx); err == nil {
				pause = pauseMin
				continue
			}
		}
		if berth.CodeOf(err) == berth.CodeUnavailable {
			b.mu.Lock()
			b.away = true
			b.mu.Unlock()
		}
		_ = b.provider.config.Clock.Sleep(ctx, pause)
	}
	return false
}

// lookAgain is how long an engine is waited for without a question of another
// kind. A sandbox may live for long; so may a connection that nobody answers, when
// what is between here and the engine keeps it up.
const lookAgain = 2 * time.Minute

// waitNotRunning returns when the container does not run, or after a while.
func (b *box) waitNotRunning(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.provider.lookAgain())
	defer cancel()
	wait := b.provider.engine.api.ContainerWait(ctx, b.container(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) { // it may still run
			return nil
		}
		return engineError("waiting for the container's end", err)
	}
}

func (p *Provider) lookAgain() time.Duration { return min(lookAgain, p.config.CallTimeout) }
