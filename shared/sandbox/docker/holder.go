//go:build linux

package docker

import (
	"context"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// holder names a container through which the volume of b can be read: its own, or
// one made for that when its own was removed from outside. done removes that.
// Error: not_found when the volume is gone too.
func (b *box) holder(ctx context.Context) (name string, done func(), err error) {
	if _, err = b.inspect(ctx); berth.CodeOf(err) != berth.CodeNotFound {
		return b.container(), func() {}, err
	}
	p := b.provider
	if owned, err := b.ownedVolume(ctx); err != nil || !owned {
		if err == nil {
			err = hostagent.ErrNoSandbox
		}
		return "", nil, err
	}
	guest, err := p.guestHere(ctx)
	if err != nil {
		return "", nil, err
	}
	p.scratching.Lock()
	image, err := p.scratch(ctx, guest)
	if err != nil {
		p.scratching.Unlock()
		return "", nil, err
	}
	// Not cut short: an engine that goes on alone would leave a container.
	err = p.engine.call(context.WithoutCancel(ctx), "making a container to read a volume", func(ctx context.Context) error {
		made, err := p.engine.api.ContainerCreate(ctx, client.ContainerCreateOptions{
			Config: &container.Config{Image: image, Labels: p.probeLabels(), Entrypoint: []string{guestTarget}},
			HostConfig: &container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{
				{Type: mount.TypeVolume, Source: volumeName(b.id), Target: socketTarget, VolumeOptions: &mount.VolumeOptions{NoCopy: true}},
			}},
		})
		name = made.ID
		return err
	})
	done = func() {
		defer p.scratching.Unlock()
		ctx := context.WithoutCancel(ctx)
		if name != "" {
			if err := p.removeContainer(ctx, name); err != nil {
				b.logger().Warn("a container that read a volume is left until the next probe", "error", err)
			}
		}
		_ = p.removeScratch(ctx) // the next probe removes it otherwise
	}
	if err != nil {
		done()
		// Not for want of the output: it is asked for again.
		err = &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox's volume cannot be read", Cause: err}
	}
	return name, done, err
}
