//go:build linux

package docker

import (
	"context"

	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// volumeName is the volume of a sandbox whose guest is its own agent. It holds the
// guest and the spools, and outlives the container.
func volumeName(id berth.SandboxID) string { return "berth-" + string(id) }

// createVolume makes that volume, or finds the one that an earlier server made.
func (b *box) createVolume(ctx context.Context, run berth.RunID) error {
	var made volume.Volume
	whole, cancel := b.provider.untilClosed() // see createContainer
	defer cancel()
	err := b.provider.engine.call(whole, "making the sandbox's volume", func(ctx context.Context) error {
		result, err := b.provider.engine.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: volumeName(b.id), Labels: b.labels(run)})
		made = result.Volume
		return err
	})
	if err != nil {
		return err
	}
	if !b.owns(made.Labels) { // it was there
		return berth.Errorf(berth.CodeConflict, "a volume named %s is there and is not this installation's", made.Name)
	}
	return nil
}

// labels are those of all that is made for b.
func (b *box) labels(run berth.RunID) map[string]string {
	return map[string]string{
		labelInstallation: string(b.provider.config.Installation), labelRun: string(run), labelSandbox: string(b.id),
	}
}

// volumes are those of this installation, of one sandbox or, with an empty id, of
// all. An engine that needs none is not asked.
func (p *Provider) volumes(ctx context.Context, id berth.SandboxID) (found []volume.Volume, err error) {
	if !p.attaches.Load() {
		return nil, nil
	}
	filters := client.Filters{}.Add("label", labelInstallation+"="+string(p.config.Installation))
	if id != "" {
		filters.Add("label", labelSandbox+"="+string(id))
	}
	err = p.engine.call(ctx, "listing volumes", func(ctx context.Context) error {
		list, err := p.engine.api.VolumeList(ctx, client.VolumeListOptions{Filters: filters})
		found = list.Items
		return err
	})
	return found, err
}

// ownedVolume reports whether the volume of b is there and ours.
func (b *box) ownedVolume(ctx context.Context) (bool, error) {
	found, err := b.provider.volumes(ctx, b.id)
	if err != nil {
		return false, err
	}
	for _, v := range found {
		if v.Name == volumeName(b.id) {
			return true, nil
		}
	}
	return false, nil
}
