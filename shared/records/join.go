package records

import (
	"context"
	"maps"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Join is the token that one host joins with, once. It is kept by its hash for a
// day after its end, so that what became of it can be told.
type Join struct {
	Host      berth.HostID `json:"host"`
	ExpiresAt time.Time    `json:"expires_at"`
	UsedAt    *time.Time   `json:"used_at,omitempty"`

	hash    string
	version int64
}

const keptJoin = 24 * time.Hour

func (j Join) item() (berth.Item, error) {
	body, err := encode(j)
	return berth.Item{PK: pkJoin, SK: j.hash, Version: j.version, Body: body, Expires: j.ExpiresAt.Add(keptJoin)}, err
}

// CreateHost records a host that is to join with the token of a hash until a time.
// One that has not joined yet gets the new token in place of the one before, and
// keeps the labels that it was added with, but for those that have new values.
// Error: conflict when the host has joined.
func (s *Store) CreateHost(ctx context.Context, h StoredHost, hash string, until time.Time) (StoredHost, error) {
	h.CreatedAt, h.JoinHash, h.JoinExpiresAt = s.Clock.Now(), hash, until
	labels := h.Labels
	err := s.race(ctx, "host "+string(h.ID), func() error {
		before, err := s.FindHost(ctx, h.ID)
		switch {
		case err == nil && before.Status != berth.HostJoining:
			return &berth.Error{
				Code: berth.CodeConflict, Field: "id", Message: "host " + string(h.ID) + " exists already",
				Remediation: "Choose another id, or remove the host first: berth host rm " + string(h.ID),
			}
		case err == nil && before.claimedAt(s.Clock.Now()):
			return berth.FieldErrorf(berth.CodeConflict, "id", "host %s is joining at this moment", h.ID)
		case err != nil && !isNotFound(err):
			return err
		}
		h.Version, h.Labels = before.Version, map[string]string{}
		maps.Copy(h.Labels, before.Labels)
		maps.Copy(h.Labels, labels)
		host, err := h.item()
		if err != nil {
			return err
		}
		join, err := Join{Host: h.ID, ExpiresAt: until, hash: hash}.item()
		if err != nil {
			return err
		}
		return s.Table.Transact(ctx, []berth.Write{{Item: host}, {Item: join}})
	})
	h.Version++
	h.Status, h.Providers, h.Labels = berth.HostJoining, nonNilSlice(h.Providers), nonNil(h.Labels)
	return h, err
}

// ClaimJoin finds the host that a token stands for and keeps other joins of it out
// until a time. Errors: unauthenticated for a token that is not known, was
// replaced, or has expired; conflict for one that was used, or is being used.
func (s *Store) ClaimJoin(ctx context.Context, hash string, until time.Time) (join Join, host StoredHost, err error) {
	err = s.race(ctx, "the join token", func() error {
		join = Join{}
		version, err := s.find(ctx, pkJoin, hash, &join)
		if isNotFound(err) {
			return &berth.Error{
				Code: berth.CodeUnauthenticated, Field: "token", Message: "is not known: it was never a join token of this server, or it is long gone",
				Remediation: "Check the server's URL, and that the token is whole; or have another one made: berth host add NAME",
			}
		}
		if err != nil {
			return err
		}
		join.hash, join.version = hash, version
		if host, err = s.FindHost(ctx, join.Host); err != nil && !isNotFound(err) {
			return err
		}
		if refused := join.refused(host, s.Clock.Now()); refused != nil {
			return refused
		}
		host.ClaimedUntil = &until
		item, err := host.item()
		if err != nil {
			return err
		}
		host.Version, err = s.Table.Put(ctx, item)
		return err
	})
	return join, host, err
}

// refused says why nobody may join with the token now.
func (j Join) refused(host StoredHost, now time.Time) error {
	again := "Have another one made: berth host add " + string(j.Host)
	switch {
	case j.UsedAt != nil:
		return &berth.Error{
			Code: berth.CodeConflict, Field: "token",
			Message:     "was used on " + j.UsedAt.UTC().Format(time.DateTime) + " UTC to join host " + string(j.Host) + ": it is good once",
			Remediation: "To join a host anew, remove it and add it again: berth host rm " + string(j.Host) + " && berth host add " + string(j.Host),
		}
	case host.JoinedAt != nil: // with this token at this moment, or with a newer one
		return berth.FieldErrorf(berth.CodeConflict, "token", "is good once, and host %s has joined", j.Host)
	case host.JoinHash != j.hash:
		return &berth.Error{
			Code: berth.CodeUnauthenticated, Field: "token", Message: "counts no more: host " + string(j.Host) + " was removed or given another token",
			Remediation: again,
		}
	case !now.Before(j.ExpiresAt):
		return &berth.Error{
			Code: berth.CodeUnauthenticated, Field: "token", Message: "expired on " + j.ExpiresAt.UTC().Format(time.DateTime) + " UTC",
			Remediation: again,
		}
	case host.claimedAt(now):
		return berth.FieldErrorf(berth.CodeConflict, "token", "is being used by another join at this moment")
	}
	return nil
}

// ReleaseJoin lets others join with the token after a join that came to nothing.
// host is as ClaimJoin returned it.
func (s *Store) ReleaseJoin(ctx context.Context, host StoredHost) error {
	host.ClaimedUntil = nil
	item, err := host.item()
	if err != nil {
		return err
	}
	_, err = s.Table.Put(ctx, item)
	if isStale(err) { // the claim is not ours any more
		return nil
	}
	return err
}

// CompleteJoin uses the token up, lets sandboxes be placed on the host, and
// records its key, all at once. Error: conflict when the claim was lost.
func (s *Store) CompleteJoin(ctx context.Context, j Join, h StoredHost, key berth.Key, keyHash string) (StoredHost, error) {
	now := s.Clock.Now()
	j.UsedAt = &now
	h.ClaimedUntil, h.JoinedAt, h.SeenAt, h.Key, h.JoinHash = nil, &now, nil, key.ID, ""
	writes, err := StoredKey{Key: key, Hash: keyHash}.writes(false)
	if err != nil {
		return h, err
	}
	for _, record := range []interface{ item() (berth.Item, error) }{j, h, places{host: h.ID}} {
		item, err := record.item()
		if err != nil {
			return h, err
		}
		writes = append(writes, berth.Write{Item: item})
	}
	err = s.Table.Transact(ctx, writes)
	h.Version++
	h.Status = h.statusAt(now)
	return h, rename(err, berth.CodeStale, berth.FieldErrorf(berth.CodeConflict, "token", "was used or replaced in the meantime"))
}
