package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

// member is a host as it was last looked up.
type member struct {
	provider berth.Provider
	// joined is the key of the join that address and bearer are from.
	joined berth.KeyID
	readAt time.Time
}

const (
	// memberLife is how long a host's address and bearer are used without a look.
	memberLife = 15 * time.Second
	// memberRest is the least time between two looks at a host that does not answer.
	memberRest = 2 * time.Second
)

// removed is the error of a host that there is no more.
type removed struct{ host berth.HostID }

func (r removed) Error() string { return "host " + string(r.host) + " was removed" }

// member finds how to reach a host; a look that is younger than life will do.
func (f *Fleet) member(ctx context.Context, host berth.HostID, life time.Duration) (*member, error) {
	now := f.config.Clock.Now()
	f.mu.Lock()
	known := f.members[host]
	f.mu.Unlock()
	if known != nil && now.Sub(known.readAt) < life {
		return known, nil
	}
	h, err := f.config.Records.FindHost(ctx, host)
	if berth.CodeOf(err) == berth.CodeNotFound || err == nil && h.Status == berth.HostJoining {
		f.forget(host)
		return nil, removed{host}
	}
	if err != nil {
		return nil, berth.Wrap(err, "looking host "+string(host)+" up")
	}
	if known != nil && known.joined == h.Key {
		f.mu.Lock()
		defer f.mu.Unlock()
		known.readAt = now
		return known, nil
	}
	return f.connect(ctx, h, now)
}

// connect makes the provider of a host that is new, or has joined anew.
func (f *Fleet) connect(ctx context.Context, h records.StoredHost, now time.Time) (*member, error) {
	bearer, err := f.config.Secrets.Read(ctx, berth.HostSecret(h.ID))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the bearer of host " + string(h.ID) + " is not in the secret store",
			Remediation: rejoin(h.ID),
		}
	}
	if err != nil {
		return nil, berth.Wrap(err, "reading the bearer of host "+string(h.ID))
	}
	provider, err := f.config.Dial(Member{Host: h.ID, Address: h.Address, Fingerprint: h.Fingerprint, Bearer: bearer})
	if err != nil {
		return nil, berth.Wrap(err, "connecting to host "+string(h.ID))
	}
	f.forget(h.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &member{provider: provider, joined: h.Key, readAt: now}
	f.members[h.ID] = m
	return m, nil
}

func (f *Fleet) forget(host berth.HostID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[host]; m != nil {
		if closer, ok := m.provider.(interface{ Close() error }); ok {
			_ = closer.Close() // its idle connections
		}
		delete(f.members, host)
	}
}

func rejoin(host berth.HostID) string {
	return "Let the host join again: berth host rm --force " + string(host) + " && berth host add " + string(host)
}

// call passes a call on to a host, or to the server's own engine. Where the host
// does not take it, for its certificate or bearer, it is looked up anew, as it may
// have joined again; then the call is made once more if again allows that.
func call[T any](ctx context.Context, f *Fleet, host berth.HostID, again bool, do func(berth.Provider) (T, error)) (T, error) {
	var none T
	if host == "" {
		engine, why := f.local()
		if engine == nil {
			return none, berth.Errorf(berth.CodeUnavailable, "the server's own Docker engine cannot be used: %s", why)
		}
		return do(engine)
	}
	m, err := f.member(ctx, host, memberLife)
	if err != nil {
		return none, err
	}
	out, err := do(m.provider)
	if err == nil || !doubtful(err) || ctx.Err() != nil {
		return out, err
	}
	fresh, lookErr := f.member(ctx, host, memberRest)
	switch {
	case lookErr != nil:
		return none, lookErr
	case fresh != m && again:
		if out, err = do(fresh.provider); err == nil || !doubtful(err) {
			return out, err
		}
	}
	return out, explain(host, err)
}

// doubtful reports whether err may come of an address, certificate or bearer that
// is not the host's any more.
func doubtful(err error) bool {
	switch berth.CodeOf(err) {
	case berth.CodeUnavailable, berth.CodeUnauthenticated, berth.CodeForbidden:
		return true
	}
	return false
}

// explain names the host. What the agent thinks of the server's bearer is no
// business of who asks the server.
func explain(host berth.HostID, err error) error {
	shown := &berth.Error{Code: berth.CodeUnavailable, Message: "host " + string(host) + ": " + err.Error()}
	var e *berth.Error
	if errors.As(err, &e) {
		said := *e
		said.Cause = nil
		shown.Message, shown.Remediation, shown.Cause = "host "+string(host)+": "+said.Error(), e.Remediation, e.Cause
	}
	switch {
	case remote.CertificateChanged(err):
		shown.Remediation = "Run `berth-agent fingerprint` on the host. If it prints the new one, the agent was set up anew. " + rejoin(host) +
			" If not, somebody is between the server and the host."
	case berth.CodeOf(err) == berth.CodeForbidden: // it belongs to another installation
		shown.Remediation = rejoin(host)
	case berth.CodeOf(err) == berth.CodeUnauthenticated:
		shown.Message = "host " + string(host) + " refuses the server's bearer"
		shown.Remediation = rejoin(host)
	}
	return shown
}

// isRemoved reports whether the host is no more.
func isRemoved(err error) bool {
	var r removed
	return errors.As(err, &r)
}
