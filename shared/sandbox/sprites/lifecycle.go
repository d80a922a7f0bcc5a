package sprites

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// Describe asks the sandbox, which wakes its sprite. One that is not whole yet is
// creating. What its making came to is told to each who looks, and stays for the
// next Provision, which acts on it.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	m := p.making(ref.ID)
	switch {
	case m == nil:
	case m.active():
		return m.creating(), nil
	case passing(m.err):
		m.tell(shown(m.err)) // Provision tells it too, and then goes on
		return m.creating(), nil
	case m.err != nil || m.state.Status == berth.SandboxFailed:
		return m.state, m.err
	default:
		p.told(ref.ID, m) // from here on the sandbox speaks for itself
	}
	return p.describe(ctx, ref)
}

// shown is what people may learn of an error; its cause is for the log.
func shown(err error) string {
	said := *berth.Shown(err, "making the sandbox failed; the server's log says why")
	said.Cause = nil
	return said.Error()
}

func (p *Provider) describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := p.Sandboxes.Describe(ctx, ref)
	if err != nil || state.Status != berth.SandboxGone {
		return p.dressed(ref, state), err
	}
	gone := berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}
	s, err := p.api.Find(ctx, p.nameOf(ref))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return gone, nil
	}
	if err != nil {
		return gone, berth.Wrap(err, "finding sprite "+p.nameOf(ref))
	}
	if run, ok := p.runOn(s.Labels, ref.ID); ok {
		return berth.SandboxState{ID: ref.ID, Run: run, Status: berth.SandboxCreating, Ref: s.Name}, nil
	}
	return gone, nil
}

// dressed adds to a sandbox's state what the sprite is.
func (p *Provider) dressed(ref berth.SandboxRef, state berth.SandboxState) berth.SandboxState {
	switch state.Status {
	case "", berth.SandboxGone:
		return state
	}
	state.Ref = p.nameOf(ref)
	state.Hint = "sprite console -s " + state.Ref
	return state
}

// checkpointLimit is how long a stop waits for the checkpoint.
const checkpointLimit = 15 * time.Second

// Stop ends all commands and keeps the files. Of a sprite that was made for the
// sandbox the disk is kept as a checkpoint too, once each stop: what is preserved
// can then be brought back. A checkpoint that fails is logged and no error: the
// files are on the disk in any case.
func (p *Provider) Stop(ctx context.Context, ref berth.SandboxRef) error {
	give, err := p.take(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer give()
	before, err := p.Sandboxes.Describe(ctx, ref)
	if err != nil {
		return err
	}
	if err := p.Sandboxes.Stop(ctx, ref); err != nil {
		return err
	}
	name := p.nameOf(ref)
	if before.Status == berth.SandboxStopped || name != p.ownName(ref.ID) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, checkpointLimit)
	defer cancel()
	comment := "berth: stopped " + p.config.Clock.Now().Format(time.RFC3339)
	if err := p.api.CreateCheckpoint(limited, name, comment); err != nil {
		p.config.Logger.WarnContext(ctx, "no checkpoint of a stopped sandbox", "sandbox", string(ref.ID), "error", err)
	}
	return nil
}

// Start makes a stopped or failed sandbox ready again.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := p.Sandboxes.Start(ctx, ref)
	return p.dressed(ref, state), err
}

// Destroy deletes a sprite that was made for the sandbox. From one that exists it
// takes the sandbox away and leaves the rest as it is.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	if err := p.abandon(ctx, ref.ID); err != nil {
		return err
	}
	give, err := p.take(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer give()
	if ref.Ref == "" {
		if ref.Ref, err = p.search(ctx, ref.ID); err != nil || ref.Ref == "" {
			return err
		}
	}
	return p.remove(ctx, ref, ref.Ref == p.ownName(ref.ID))
}

// search finds the sprite of a sandbox whose record does not say it.
func (p *Provider) search(ctx context.Context, id berth.SandboxID) (name string, err error) {
	all, err := p.api.List(ctx, "")
	if err != nil {
		return "", berth.Wrap(err, "listing sprites")
	}
	for _, s := range all {
		if _, ok := p.runOn(s.Labels, id); ok {
			return s.Name, nil
		}
	}
	return "", nil
}

// remove takes a sandbox away; its mark goes last.
func (p *Provider) remove(ctx context.Context, ref berth.SandboxRef, own bool) error {
	s, err := p.api.Find(ctx, ref.Ref)
	if berth.CodeOf(err) == berth.CodeNotFound {
		p.Forget(ref.ID)
		return nil
	}
	if err != nil {
		return berth.Wrap(err, "finding sprite "+ref.Ref)
	}
	if _, ours := p.runOn(s.Labels, ref.ID); !ours {
		if own {
			return notOurs(ref.Ref)
		}
		p.Forget(ref.ID)
		return nil // it was taken away before
	}
	if !own {
		return p.leave(ctx, ref)
	}
	if err := p.api.Delete(ctx, ref.Ref); err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return berth.Wrap(err, "deleting sprite "+ref.Ref)
	}
	p.Forget(ref.ID)
	return nil
}

// leave takes the sandbox's processes, folder and mark away from a sprite that is
// not berth's.
func (p *Provider) leave(ctx context.Context, ref berth.SandboxRef) error {
	if err := p.Sandboxes.Destroy(ctx, ref); err != nil {
		return berth.Wrap(err, "ending the sandbox in sprite "+ref.Ref)
	}
	r, err := p.run(ctx, ref.Ref, folder(ref.ID)+`rm -rf "$d" && { rmdir "${d%/*}" 2>/dev/null || :; }`)
	if err != nil || r.Code != 0 {
		if err == nil {
			err = berth.Errorf(berth.CodeUnavailable, "%s", r.Stderr)
		}
		return berth.Wrap(err, "removing the sandbox's folder from sprite "+ref.Ref)
	}
	err = p.label(ctx, ref.Ref, func(labels []string) ([]string, bool) {
		_, there := p.runOn(labels, ref.ID)
		return p.without(labels, ref.ID), there
	})
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil
	}
	return err
}

// List finds the sandboxes of this installation by their marks. Sprites that sleep
// are not woken: of them it says no more than that they are there.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	if _, err := p.api.Token(ctx); berth.CodeOf(err) == berth.CodeUnsupported {
		return []berth.SandboxState{}, nil // the provider is off
	}
	all, err := p.api.List(ctx, "")
	if err != nil {
		return nil, berth.Wrap(err, "listing sprites")
	}
	states := []berth.SandboxState{}
	for _, s := range all {
		for _, label := range s.Labels {
			if id, run, ok := p.marked(label); ok {
				states = append(states, p.listed(ctx, s, id, run))
			}
		}
	}
	return states, nil
}

func (p *Provider) listed(ctx context.Context, s spritesapi.Sprite, id berth.SandboxID, run berth.RunID) berth.SandboxState {
	known := p.dressed(berth.SandboxRef{ID: id, Ref: s.Name}, berth.SandboxState{ID: id, Run: run, Status: berth.SandboxReady, CreatedAt: s.CreatedAt})
	if s.Status != spritesapi.Running {
		return known
	}
	state, err := p.describe(ctx, berth.SandboxRef{ID: id, Ref: s.Name})
	if err != nil || state.Status == berth.SandboxGone {
		return known // the sweeper must hear of it all the same
	}
	return state
}
