package control

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// HostCall is where and how to reach a host agent.
type HostCall struct {
	Address     string
	Fingerprint string
	Bearer      berth.SecretValue
}

// HostAnswer is what a host agent says when it is called.
type HostAnswer struct {
	Installation berth.InstallationID
	Version      string
	// Providers are those that it serves, each with what is wrong with it now, if
	// anything.
	Providers map[berth.ProviderKind]string
	CPU       int
	// MemoryBytes is the host's memory; like CPU it is 0 when the agent does not say.
	MemoryBytes int64
}

// Caller calls a host agent back before it is taken in. Errors: invalid with the
// field of a HostJoin that is at fault: address when nobody answers there,
// fingerprint when another certificate is shown, bearer when the agent refuses it;
// conflict for an agent that belongs to another installation.
type Caller interface {
	Call(ctx context.Context, call HostCall) (HostAnswer, error)
}

const (
	// joinTime is how long a join may take in all, within what a gateway waits.
	joinTime = 25 * time.Second
	// joinClaim outlasts it: while it lasts, no other join uses the token.
	joinClaim = 2 * joinTime
	// releaseTime is how long giving a token back may take.
	releaseTime = 5 * time.Second
)

// JoinHost takes a host in: it calls the agent back, keeps its bearer and makes
// its key, and uses the token up. A join that is refused leaves the token as it
// was. Errors: invalid, with every fault, or with what the call back found;
// unauthenticated for a token that is not known or has expired; conflict for one
// that was used, and for an agent of another installation or that is a host
// already; unavailable; unsupported by a server that takes no hosts.
func (p *Plane) JoinHost(ctx context.Context, join berth.HostJoin) (joined berth.JoinedHost, err error) {
	if p.Caller == nil {
		return joined, berth.Errorf(berth.CodeUnsupported, "this server takes no hosts")
	}
	if err := berth.Invalid(berth.ValidateHostJoin(join, p.LoopbackHosts)); err != nil {
		return joined, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	claim, host, err := p.Records.ClaimJoin(ctx, access.HashOf(join.Token), p.Clock.Now().Add(joinClaim))
	if err != nil {
		return joined, err
	}
	defer func() {
		if err != nil {
			p.refuseJoin(ctx, host)
		}
	}()
	if err := p.checkTwin(ctx, claim.Host, join); err != nil {
		return joined, err
	}
	call := HostCall{Address: join.Address, Fingerprint: join.Fingerprint, Bearer: berth.NewSecretValue([]byte(join.Bearer))}
	answer, err := p.Caller.Call(ctx, call)
	if err != nil {
		return joined, berth.Wrap(err, "calling host "+string(claim.Host)+" back")
	}
	if err := p.checkAnswer(join, answer); err != nil {
		return joined, err
	}
	if others, err := p.claimedByOthers(ctx, host); err != nil {
		return joined, err
	} else if others {
		return joined, berth.FieldErrorf(berth.CodeConflict, "token", "counts no more: host %s was added anew in the meantime", claim.Host)
	}
	if err := p.Secrets.Put(ctx, berth.HostSecret(claim.Host), call.Bearer); err != nil {
		return joined, berth.Wrap(err, "keeping the bearer of host "+string(claim.Host))
	}
	return p.completeJoin(ctx, claim, host, join)
}

// checkTwin refuses an agent that is a host already, as its machine would count
// twice, and one whose previews would be looked for on another.
func (p *Plane) checkTwin(ctx context.Context, id berth.HostID, join berth.HostJoin) error {
	hosts, err := p.Records.AllHosts(ctx)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h.ID != id && h.JoinedAt != nil && h.Fingerprint == join.Fingerprint {
			return &berth.Error{
				Code: berth.CodeConflict, Field: "fingerprint", Message: "is that of host " + string(h.ID) + ", which has joined",
				Remediation: "Remove that host first: berth host rm " + string(h.ID),
			}
		}
	}
	if other := usedBy(hosts, id, join.PublicURL); other != "" {
		return &berth.Error{
			Code: berth.CodeConflict, Field: "public_url", Message: "is that of host " + string(other) + ": a name leads to one machine",
			Remediation: "Give each host a public URL of its own, such as https://*." + string(id) + ".example.com.",
		}
	}
	return nil
}

// checkAnswer compares what the agent says with what it joined with.
func (p *Plane) checkAnswer(join berth.HostJoin, answer HostAnswer) error {
	if answer.Installation == "" {
		return berth.FieldErrorf(berth.CodeInvalid, "address", "does not answer as a host agent does: it names no installation")
	}
	if answer.Installation != p.Installation {
		return &berth.Error{
			Code: berth.CodeConflict, Field: "address", Message: "the agent there belongs to another installation: " + string(answer.Installation),
			Remediation: "Remove the host there, and the agent's data folder on the host, before it joins here.",
		}
	}
	var faults berth.Problems
	for i, kind := range join.Providers {
		switch problem, served := answer.Providers[kind]; {
		case !served:
			faults.Addf(berth.IndexPath("providers", i), "is not served by the agent at %s", join.Address)
		case problem != "":
			faults.Addf(berth.IndexPath("providers", i), "does not work on the host: %s", problem)
		}
	}
	if answer.CPU > 0 && join.CPU > answer.CPU {
		faults.Addf("cpu", "is %d, and the agent finds %d cores", join.CPU, answer.CPU)
	}
	if answer.MemoryBytes > 0 && join.MemoryBytes > answer.MemoryBytes {
		faults.Addf("memory_bytes", "is %d, and the agent finds %d bytes", join.MemoryBytes, answer.MemoryBytes)
	}
	return berth.Invalid(faults.List())
}

func (p *Plane) completeJoin(ctx context.Context, claim records.Join, host records.StoredHost, join berth.HostJoin) (berth.JoinedHost, error) {
	keys := access.Keys{Records: p.Records, Clock: p.Clock, IDs: p.IDs, Random: p.random()}
	key, hash, value, err := keys.Make(berth.Key{
		Name: string(host.ID), Scopes: []berth.Scope{berth.ScopeHost}, Host: host.ID, CreatedBy: host.CreatedBy,
	})
	if err != nil {
		return berth.JoinedHost{}, err
	}
	host.Address, host.Fingerprint, host.PublicURL, host.Host.Version = join.Address, join.Fingerprint, plainURL(join.PublicURL), join.Version
	host.HostCapacity, host.Providers = join.HostCapacity, slices.Clone(join.Providers)
	host.Labels = mergedLabels(join.Labels, host.Labels)
	if host, err = p.Records.CompleteJoin(ctx, claim, host, key, hash); err != nil {
		return berth.JoinedHost{}, err
	}
	return berth.JoinedHost{Host: host.Host, Installation: p.Installation, Key: string(value.Reveal())}, nil
}

// mergedLabels lets those that the host was added with win: who adds hosts decides
// what is placed on them.
func mergedLabels(own, added map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, own)
	maps.Copy(all, added)
	return all
}

// claimedByOthers reports whether the host that a join has claimed was removed and
// added again since, or has joined: the bearer under its name is another's then.
// host is as ClaimJoin returned it.
func (p *Plane) claimedByOthers(ctx context.Context, host records.StoredHost) (bool, error) {
	now, err := p.Records.FindHost(ctx, host.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return false, nil
	}
	return err == nil && (now.Version != host.Version || now.JoinHash != host.JoinHash), err
}

// refuseJoin undoes what a join has done so far. While its claim lasts nobody else
// stores a bearer under the name, unless the host was removed and added anew.
func (p *Plane) refuseJoin(ctx context.Context, host records.StoredHost) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	others, err := p.claimedByOthers(ctx, host)
	if others {
		return
	}
	if err == nil {
		err = p.Secrets.Delete(ctx, berth.HostSecret(host.ID))
	}
	if err != nil {
		p.Logger.Warn("the bearer of a host that was refused is still kept", "host", string(host.ID), "error", err)
	}
	if err := p.Records.ReleaseJoin(ctx, host); err != nil {
		p.Logger.Warn("a join token is held back for a while", "host", string(host.ID), "error", err)
	}
}
