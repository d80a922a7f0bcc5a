package sprites

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// urlPort is the one port that a sprite's URL leads to, unless a service of its
// own has another.
const urlPort = 8080

// Preview returns the sprite's URL, for the one port that it leads to. It is good
// for as long as the sprite is there; who may open it is sprites.url_auth. Error:
// unsupported for another port.
func (p *Provider) Preview(ctx context.Context, ref berth.SandboxRef, port int, _ time.Duration) (string, error) {
	s, err := p.find(ctx, ref)
	if err != nil {
		return "", err
	}
	if port != urlPort || s.URL == "" {
		return "", &berth.Error{
			Code: berth.CodeUnsupported, Field: "port", Message: fmt.Sprintf("a sprite's URL leads to port %d alone", urlPort),
			Remediation: fmt.Sprintf("Let the program listen on port %d.", urlPort),
		}
	}
	return s.URL, nil
}

// Snapshot keeps the sprite's disk as a checkpoint with the name as its comment.
// With a name that is there already nothing happens.
func (p *Provider) Snapshot(ctx context.Context, ref berth.SandboxRef, name string) error {
	give, err := p.take(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer give()
	s, err := p.find(ctx, ref)
	if err != nil {
		return err
	}
	if there, err := p.kept(ctx, s.Name, name); there || err != nil {
		return err
	}
	failure := p.api.CreateCheckpoint(ctx, s.Name, name)
	if failure == nil {
		return nil
	}
	// The answer may have been lost and not the checkpoint.
	if there, err := p.kept(ctx, s.Name, name); there && err == nil {
		return nil
	}
	return berth.Wrap(failure, "keeping the disk of sprite "+s.Name)
}

func (p *Provider) kept(ctx context.Context, sprite, name string) (bool, error) {
	all, err := p.api.Checkpoints(ctx, sprite)
	if err != nil {
		return false, berth.Wrap(err, "listing the checkpoints of sprite "+sprite)
	}
	return slices.ContainsFunc(all, func(c spritesapi.Checkpoint) bool { return c.Comment == name }), nil
}

// find returns the sprite that a sandbox is on. Error: not_found.
func (p *Provider) find(ctx context.Context, ref berth.SandboxRef) (spritesapi.Sprite, error) {
	s, err := p.api.Find(ctx, p.nameOf(ref))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return s, notFound()
	}
	if err != nil {
		return s, berth.Wrap(err, "finding sprite "+p.nameOf(ref))
	}
	if _, ok := p.runOn(s.Labels, ref.ID); !ok {
		return s, notFound()
	}
	return s, nil
}
