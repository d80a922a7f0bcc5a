package sprites

import (
	"context"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// plan is what a sandbox's environment asks for.
type plan struct {
	spec    berth.SandboxSpec
	name    string // of the sprite
	own     bool   // it is made and deleted for the sandbox
	org     string // that the token must be of; empty is any
	urlAuth string // empty is the service's own
	block   bool   // the network
}

func (pl plan) ref() berth.SandboxRef { return berth.SandboxRef{ID: pl.spec.ID, Ref: pl.name} }

// plan checks an environment before anything is made. Errors: unsupported for what
// a sprite cannot do, invalid.
func (p *Provider) plan(ctx context.Context, spec berth.SandboxSpec) (plan, error) {
	if err := spec.Check(berth.ProviderSprites); err != nil {
		return plan{}, err
	}
	if strings.Contains(string(spec.Run), ".") {
		return plan{}, berth.FieldErrorf(berth.CodeInvalid, "run", "must be a lower-case ULID")
	}
	e := spec.Environment
	pl := plan{spec: spec, name: p.ownName(spec.ID), own: true, block: e.Network.Mode == berth.NetworkBlock}
	if o := e.Sprites; o != nil {
		pl.org, pl.urlAuth = o.Org, o.URLAuth
		if o.Name != "" {
			pl.name, pl.own = o.Name, false
		}
	}
	if pl.org == "" {
		return pl, nil
	}
	// Tokens begin with their organisation.
	token, err := p.api.Token(ctx)
	if err != nil {
		return plan{}, err
	}
	if org, _, ok := strings.Cut(string(token.Reveal()), "/"); ok && org != pl.org {
		return plan{}, wrongOrg(pl.org, org)
	}
	return pl, nil
}

func wrongOrg(want, is string) error {
	return &berth.Error{
		Code: berth.CodeInvalid, Field: "sprites.org", Message: "is " + want + ", and the server's Sprites token is for " + is,
		Remediation: "Change the field, or give the server a token of that organisation.",
	}
}
