//go:build linux

package docker

import (
	"context"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// removeContainer removes the container of b and its volumes, whatever is left
// of them.
func (b *box) removeContainer(ctx context.Context) error {
	m := b.present()
	if m.attached() {
		// Also one that the server did not live to record, and only when it is ours.
		owned, err := b.ownedVolume(ctx)
		if err != nil {
			return err
		}
		if owned {
			m.Volumes = append(m.Volumes, volumeName(b.id))
		}
	}
	name := m.Container
	if name == "" {
		// The server may have died between the making and the record. What is ours
		// by its labels alone is removed.
		found, err := b.inspect(ctx)
		if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
			return err
		}
		if err == nil && found.Config != nil && b.owns(found.Config.Labels) {
			name, m.Volumes = found.ID, append(m.Volumes, volumesOf(found)...)
		}
	}
	if name != "" {
		if err := b.provider.removeContainer(ctx, name); err != nil {
			return err
		}
	}
	for _, volume := range m.Volumes {
		if err := b.provider.removeVolume(ctx, volume); err != nil {
			return err
		}
	}
	return nil
}

// maxRemovals is how often an engine may fail at a removal. One that meets a file
// which is being written as it clears a folder says "directory not empty", and
// does the rest when it is asked again.
const maxRemovals = 8

// removeContainer removes one container with its anonymous volumes, and returns
// when it is gone.
func (p *Provider) removeContainer(ctx context.Context, name string) error {
	return p.engine.call(ctx, "removing container "+name, func(ctx context.Context) error {
		failures := 0
		for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
			_, err := p.engine.api.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			err = engineError("", err)
			switch berth.CodeOf(err) {
			case "", berth.CodeNotFound:
				return nil
			case berth.CodeConflict: // somebody else is removing it
			case berth.CodeInternal:
				if failures++; failures == maxRemovals {
					return err
				}
			default:
				return err
			}
			if err := p.config.Clock.Sleep(ctx, pause); err != nil {
				return err
			}
		}
	})
}

// removeVolume removes a volume that its container did not take along: it was
// removed by somebody who did not think of that.
func (p *Provider) removeVolume(ctx context.Context, name string) error {
	err := p.engine.call(ctx, "removing volume "+name, func(ctx context.Context) error {
		_, err := p.engine.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
		return err
	})
	switch berth.CodeOf(err) {
	case berth.CodeNotFound, berth.CodeConflict: // or somebody uses it by now
		return nil
	}
	return err
}
