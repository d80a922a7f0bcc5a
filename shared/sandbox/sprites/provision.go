package sprites

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// cleanupLimit is how long what has failed may take to be taken away.
const cleanupLimit = time.Minute

// Provision makes the sandbox, or goes on where an earlier call stopped: each step
// looks at what is there. It returns when that is done, or after a moment with a
// sandbox that is creating. The sprite, or the mark on one that exists, comes before
// everything else, so that nothing is ever unowned. What passes by itself is
// returned as an error and left for the next call; everything else is taken away.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	pl, err := p.plan(ctx, spec)
	if err != nil {
		return berth.SandboxState{}, err
	}
	m, err := p.begin(pl)
	if err != nil {
		return berth.SandboxState{}, err
	}
	timer := time.NewTimer(p.config.Moment)
	defer timer.Stop()
	select {
	case <-m.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	if m.active() {
		return m.creating(), nil
	}
	p.told(spec.ID, m)
	return m.state, m.err
}

// makeOrRemove is the whole work of a sandbox that is being made.
func (p *Provider) makeOrRemove(ctx context.Context, m *making) (berth.SandboxState, error) {
	pl := m.plan
	give, err := p.take(ctx, pl.spec.ID)
	if err != nil {
		return berth.SandboxState{}, interrupted(ctx, err)
	}
	defer give()
	state, err := p.make(ctx, m)
	if err == nil && state.Status != berth.SandboxFailed || passes(ctx, err) {
		return p.dressed(pl.ref(), state), interrupted(ctx, err)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	if left := p.remove(clean, pl.ref(), pl.own); left != nil {
		p.config.Logger.WarnContext(ctx, "a sandbox that could not be made is left for the sweeper", "sandbox", string(pl.spec.ID), "error", left)
	}
	return p.dressed(pl.ref(), state), err
}

// passes reports whether an error says nothing about the sandbox.
func passes(ctx context.Context, err error) bool {
	return passing(err) || err != nil && ctx.Err() != nil
}

// passing reports whether the same may be tried again.
func passing(err error) bool {
	switch berth.CodeOf(err) {
	case berth.CodeUnavailable, berth.CodeRateLimited, berth.CodeTimedOut:
		return true
	}
	return false
}

func (p *Provider) make(ctx context.Context, m *making) (berth.SandboxState, error) {
	pl, claim := m.plan, p.borrow
	if pl.own {
		claim = p.create
	}
	if err := m.begins("claiming the sprite"); err != nil {
		return berth.SandboxState{}, err
	}
	if err := claim(ctx, pl); err != nil {
		return berth.SandboxState{}, err
	}
	if err := m.begins("preparing the sprite"); err != nil {
		return berth.SandboxState{}, err
	}
	home, reason, err := p.equip(ctx, pl)
	switch {
	case err != nil:
		return berth.SandboxState{}, berth.Wrap(err, "preparing sprite "+pl.name)
	case reason != nil:
		return berth.SandboxState{ID: pl.spec.ID, Run: pl.spec.Run, Status: berth.SandboxFailed, Reason: reason}, nil
	}
	return p.Sandboxes.Provision(ctx, pl.ref(), relay.Place{Run: pl.spec.Run, Directory: home + "/workspace", Make: true})
}

// create makes sure that there is a sprite for the sandbox alone. The answer to a
// creation may be lost: what has the name and the mark is the one.
func (p *Provider) create(ctx context.Context, pl plan) error {
	s, err := p.api.Find(ctx, pl.name)
	if berth.CodeOf(err) == berth.CodeNotFound {
		order := spritesapi.Creation{Name: pl.name, Labels: []string{p.mark(pl.spec.ID, pl.spec.Run)}}
		if pl.urlAuth != "" {
			order.URLSettings = &spritesapi.URLSettings{Auth: pl.urlAuth}
		}
		made, failure := p.api.Create(ctx, order)
		if s, err = made, failure; failure != nil {
			if s, err = p.api.Find(ctx, pl.name); berth.CodeOf(err) == berth.CodeNotFound {
				err = unseen(failure)
			}
		}
	}
	if err != nil {
		return berth.Wrap(err, "making sprite "+pl.name)
	}
	if _, ours := p.runOn(s.Labels, pl.spec.ID); !ours {
		return notOurs(pl.name)
	}
	if pl.org != "" && s.Organization != "" && s.Organization != pl.org {
		return wrongOrg(pl.org, s.Organization)
	}
	if !pl.block {
		return nil
	}
	if err := p.api.SetNetworkRules(ctx, pl.name, spritesapi.DenyAll()); err != nil {
		return berth.Wrap(err, "blocking the network of sprite "+pl.name)
	}
	return p.checkBlocked(ctx, pl)
}

var nameTaken = regexp.MustCompile(`(?i)\b(taken|exists|in use)\b`)

// unseen is the failure of a creation after which there is no sprite to be seen. No
// two sandboxes have one name: where it is taken, an earlier creation goes on whose
// answer was lost.
func unseen(failure error) error {
	switch berth.CodeOf(failure) {
	case berth.CodeInvalid, berth.CodeConflict:
		if nameTaken.MatchString(failure.Error()) {
			return &berth.Error{Code: berth.CodeUnavailable, Message: "it is being made, or its name is taken", Cause: failure}
		}
	}
	return failure
}

func notOurs(name string) error {
	return berth.Errorf(berth.CodeConflict, "sprite %s is not berth's: it is left alone", name)
}

// checkBlocked makes sure that a sprite's network is what the environment says.
func (p *Provider) checkBlocked(ctx context.Context, pl plan) error {
	rules, err := p.api.NetworkRules(ctx, pl.name)
	if err != nil {
		return berth.Wrap(err, "reading the network rules of sprite "+pl.name)
	}
	if slices.Equal(rules, spritesapi.DenyAll()) {
		return nil
	}
	return &berth.Error{
		Code: berth.CodeUnsupported, Field: "network.mode", Message: "is block, and the network of sprite " + pl.name + " is not blocked",
		Remediation: "Give the sprite the one rule that denies every domain (*), or leave sprites.name out.",
	}
}

// borrow puts the sandbox's mark on a sprite that exists. Nothing else of it is
// changed: what the environment asks for must be so already.
func (p *Provider) borrow(ctx context.Context, pl plan) error {
	s, err := p.api.Find(ctx, pl.name)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return &berth.Error{
			Code: berth.CodeInvalid, Field: "sprites.name", Message: "names no sprite that the server's token can see",
			Remediation: "Make it: `sprite create " + pl.name + "`; or leave the field out, and berth makes one for each sandbox.",
		}
	}
	if err != nil {
		return berth.Wrap(err, "finding sprite "+pl.name)
	}
	if pl.org != "" && s.Organization != "" && s.Organization != pl.org {
		return wrongOrg(pl.org, s.Organization)
	}
	if pl.urlAuth != "" && s.URLSettings.Auth != pl.urlAuth {
		return &berth.Error{
			Code: berth.CodeUnsupported, Field: "sprites.url_auth", Message: "is " + pl.urlAuth + ", and the URL of sprite " + pl.name + " has " + s.URLSettings.Auth,
			Remediation: "Change it at the sprite: berth changes nothing of one that is named.",
		}
	}
	if pl.block {
		if err := p.checkBlocked(ctx, pl); err != nil {
			return err
		}
	}
	return p.label(ctx, pl.name, func(labels []string) ([]string, bool) {
		_, there := p.runOn(labels, pl.spec.ID)
		return append(slices.Clone(labels), p.mark(pl.spec.ID, pl.spec.Run)), !there
	})
}

// labelTries is how often labels are set that somebody else changes too.
const labelTries = 5

// label changes a sprite's labels, and looks whether the change has stayed: two
// who change them at once would undo each other's. change reports whether there is
// anything to do.
func (p *Provider) label(ctx context.Context, name string, change func([]string) ([]string, bool)) error {
	for range labelTries {
		s, err := p.api.Find(ctx, name)
		if err != nil {
			return berth.Wrap(err, "reading the labels of sprite "+name)
		}
		labels, due := change(s.Labels)
		if !due {
			return nil
		}
		if err := p.api.SetLabels(ctx, name, labels); err != nil {
			return berth.Wrap(err, "labelling sprite "+name)
		}
	}
	return berth.Errorf(berth.CodeUnavailable, "the labels of sprite %s do not stay as they are set", name)
}
