package control

import (
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

func (p *Plane) random() io.Reader {
	if p.Random == nil {
		return rand.Reader
	}
	return p.Random
}

// madeHostID is the id of a host that is added without one: made from an id that
// is the same when the request is repeated.
func madeHostID(id string) berth.HostID {
	const tail = 8 // of the characters that are random
	return berth.HostID("host-" + strings.ToLower(id[max(0, len(id)-tail):]))
}

// AddHost records a host that is to join, and returns the token that it can do so
// with, once, for ten minutes. made names the host when the request does not. A
// host that has not joined yet is given a new token in place of the one before, and
// keeps its labels beside the new ones.
// Errors: invalid, with every fault; conflict when the host has joined.
func (p *Plane) AddHost(ctx context.Context, made string, req berth.HostRequest, by string) (berth.JoinToken, error) {
	if err := berth.Invalid(berth.ValidateHostRequest(req)); err != nil {
		return berth.JoinToken{}, err
	}
	if req.ID == "" {
		req.ID = madeHostID(made)
	}
	token, err := access.NewJoinToken(p.random())
	if err != nil {
		return berth.JoinToken{}, err
	}
	host := records.StoredHost{Host: berth.Host{ID: req.ID, Labels: req.Labels}, CreatedBy: by}
	until := p.Clock.Now().Add(berth.JoinTokenLife)
	host, err = p.Records.CreateHost(ctx, host, access.HashOf(token), until)
	if err != nil {
		return berth.JoinToken{}, err
	}
	return berth.JoinToken{Host: host.Host, Token: token, ExpiresAt: until}, nil
}

// placeable refuses an environment that chooses hosts that there are none of.
func (p *Plane) placeable(ctx context.Context, e berth.Environment) error {
	provider, err := p.Providers.Find(e.Provider)
	if placer, ok := provider.(berth.Placer); ok && err == nil {
		return placer.Admits(ctx, e)
	}
	return nil // the run says what is wrong with its provider
}

// BeatHost takes in what a host says of itself, but for a public URL that another
// host has: the host is there all the same, without one. Errors: invalid, not_found.
func (p *Plane) BeatHost(ctx context.Context, id berth.HostID, beat berth.Heartbeat) error {
	if err := berth.Invalid(berth.ValidateHeartbeat(beat)); err != nil {
		return err
	}
	said, news := plainURL(beat.PublicURL), false
	h, err := p.Records.ChangeHost(ctx, id, func(h *records.StoredHost) error {
		other, err := p.takenBy(ctx, *h, said)
		if err != nil {
			return err
		}
		own, taken := said, ""
		if other != "" {
			own, taken = "", said
		}
		news = other != "" && (other != h.TakenBy || taken != h.TakenURL)
		now := p.Clock.Now()
		h.HostCapacity, h.Host.Version, h.PublicURL, h.SeenAt = beat.HostCapacity, beat.Version, own, &now
		h.TakenURL, h.TakenBy = taken, other
		return nil
	})
	if err == nil && news { // and not with every heartbeat
		p.Logger.Warn("a host says a public URL that another has: browsers reach no previews there", "host", string(id), "public_url", said, "other", string(h.TakenBy))
	}
	return err
}

// NudgeHost wakes the run of a sandbox whose command has spoken or ended, on the
// word of the host that it is on. Errors: not_found; forbidden for a sandbox that
// is not on the host.
func (p *Plane) NudgeHost(ctx context.Context, id berth.HostID, nudge berth.Nudge) error {
	sb, err := p.Records.FindSandbox(ctx, nudge.Sandbox)
	if err != nil {
		return err
	}
	if sb.Host != id {
		return berth.FieldErrorf(berth.CodeForbidden, "sandbox", "is not on host %s", id)
	}
	return p.Nudge(ctx, sb.ID)
}

// DrainHost lets a host take no new sandbox, or take them again. What runs there
// goes on. Errors: not_found; conflict for one that has not joined.
func (p *Plane) DrainHost(ctx context.Context, id berth.HostID, draining bool) (berth.Host, error) {
	h, err := p.Records.ChangeHost(ctx, id, func(h *records.StoredHost) error {
		switch {
		case h.Status == berth.HostJoining:
			return berth.Errorf(berth.CodeConflict, "host %s has not joined yet", id)
		case h.Draining == draining:
			return records.ErrUnchanged
		}
		h.Draining = draining
		return nil
	})
	return h.Host, err
}

// RemoveHost takes a host out: its key counts no more, and its bearer is
// forgotten. With force, the sandboxes on it count as destroyed, and their runs as
// lost. It may be called again after it was cut short. Errors: not_found; conflict
// while sandboxes are on it, without force.
func (p *Plane) RemoveHost(ctx context.Context, id berth.HostID, force bool) error {
	host, err := p.Records.FindHost(ctx, id)
	if err != nil {
		return err
	}
	there, err := p.Records.ClosePlaces(ctx, id, force)
	if berth.CodeOf(err) == berth.CodeConflict {
		return &berth.Error{
			Code: berth.CodeConflict, Message: err.Error(),
			Remediation: "Drain it and wait for its runs to end, destroy sandboxes that were kept, or remove it by force: their runs are lost then.",
		}
	}
	if err != nil {
		return err
	}
	if host.Key != "" {
		if err := p.Records.DeleteKey(ctx, host.Key); err != nil && berth.CodeOf(err) != berth.CodeNotFound {
			return err
		}
	}
	if err := p.Secrets.Delete(ctx, berth.HostSecret(id)); err != nil {
		return berth.Wrap(err, "deleting the bearer of host "+string(id))
	}
	if err := p.loseAll(ctx, id, there); err != nil {
		return err
	}
	return p.Records.DeleteHost(ctx, id)
}

// loseAll gives up the sandboxes of a host: those that hold a place there, and
// whatever else is recorded as being there.
func (p *Plane) loseAll(ctx context.Context, id berth.HostID, there []berth.SandboxID) error {
	for cursor := ""; ; {
		page, next, err := p.Records.ListHostSandboxes(ctx, id, berth.MaxQueryLimit, cursor)
		if err != nil {
			return err
		}
		for _, sb := range page {
			if sb.Status != berth.SandboxDestroyed && !slices.Contains(there, sb.ID) {
				there = append(there, sb.ID)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for _, sandbox := range there {
		if err := p.lose(ctx, sandbox, "host "+string(id)+" was removed"); err != nil {
			return berth.Wrap(err, "giving sandbox "+string(sandbox)+" up")
		}
	}
	return nil
}

// lose gives a sandbox up, and the run that it has.
func (p *Plane) lose(ctx context.Context, id berth.SandboxID, why string) error {
	sb, err := p.Records.FindSandbox(ctx, id)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil
	}
	if err == nil && sb.Run != "" {
		err = p.runner().Lose(ctx, sb.Run, why)
	}
	if err != nil {
		return err
	}
	return p.destroyed(ctx, id, &berth.Reason{Code: berth.ReasonLost, Message: why})
}
