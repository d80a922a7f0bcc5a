//go:build linux

package docker

import (
	"context"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// strayAge is after how long what a probe has made is certainly left over: a probe
// takes moments, and makes its image anew.
const strayAge = 24 * time.Hour

// removeStrays removes the containers and images that probes of whatever
// installation have left, by their label: the next server of that one, which would
// do it, may never come. What runs stays, with its image.
func (p *Provider) removeStrays(ctx context.Context) error {
	probes := client.Filters{}.Add("label", labelPurpose+"="+purposeProbe)
	found, err := p.labelled(ctx, probes)
	if err != nil {
		return err
	}
	for _, c := range found {
		if c.State == "running" || !p.isStray(c.Created) {
			continue
		}
		if err := p.removeContainer(ctx, c.ID); err != nil {
			return err
		}
	}
	return p.engine.call(ctx, "removing images of earlier probes", func(ctx context.Context) error {
		list, err := p.engine.api.ImageList(ctx, client.ImageListOptions{Filters: probes})
		if err != nil {
			return err
		}
		for _, image := range list.Items {
			if !p.isStray(image.Created) {
				continue
			}
			_, err := p.engine.api.ImageRemove(ctx, image.ID, client.ImageRemoveOptions{PruneChildren: true})
			switch code := berth.CodeOf(engineError("", err)); {
			case err == nil, code == berth.CodeNotFound, code == berth.CodeConflict: // or somebody uses it
			default:
				return err
			}
		}
		return nil
	})
}

// isStray goes by when something was made, in seconds since 1970.
func (p *Provider) isStray(created int64) bool {
	return p.config.Clock.Now().Sub(time.Unix(created, 0)) > strayAge
}
