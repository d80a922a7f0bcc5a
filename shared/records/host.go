package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// StoredHost is a host with what is kept beside it. Its Status is made from its
// heartbeats whenever it is read.
type StoredHost struct {
	berth.Host
	CreatedBy string     `json:"created_by"`
	JoinedAt  *time.Time `json:"joined_at,omitempty"`
	// Key is the host's own API key, once it has joined.
	Key berth.KeyID `json:"key,omitempty"`
	// JoinHash is that of the only token that the host may join with.
	JoinHash      string    `json:"join_hash,omitempty"`
	JoinExpiresAt time.Time `json:"join_expires_at"`
	// ClaimedUntil is how long a join that is being made keeps others out.
	ClaimedUntil *time.Time `json:"claimed_until,omitempty"`
	// TakenURL is the public URL that the host says it has while TakenBy has it.
	TakenURL string       `json:"taken_url,omitempty"`
	TakenBy  berth.HostID `json:"taken_by,omitempty"`

	Version int64 `json:"-"`
}

// statusAt is what a host's silence means at a time.
func (h StoredHost) statusAt(now time.Time) berth.HostStatus {
	switch {
	case h.JoinedAt == nil:
		return berth.HostJoining
	case now.Sub(h.HeardAt()) > berth.HostGrace:
		return berth.HostLost
	case h.Draining:
		return berth.HostDraining
	}
	return berth.HostReady
}

// claimedAt reports whether a join is being made.
func (h StoredHost) claimedAt(now time.Time) bool {
	return h.ClaimedUntil != nil && now.Before(*h.ClaimedUntil)
}

// HeardAt is when the host last spoke: with a heartbeat, or when it joined.
func (h StoredHost) HeardAt() time.Time {
	var at time.Time
	if h.JoinedAt != nil {
		at = *h.JoinedAt
	}
	if h.SeenAt != nil && h.SeenAt.After(at) {
		at = *h.SeenAt
	}
	return at
}

func (h StoredHost) item() (berth.Item, error) {
	h.Status = ""
	body, err := encode(h)
	return berth.Item{PK: pkHost, SK: string(h.ID), Version: h.Version, Body: body}, err
}

func (s *Store) hostOf(item berth.Item) (h StoredHost, err error) {
	err = decode(item, &h)
	h.Version, h.Labels, h.Status = item.Version, nonNil(h.Labels), h.statusAt(s.Clock.Now())
	h.Providers = nonNilSlice(h.Providers)
	return h, err
}

// FindHost returns not_found.
func (s *Store) FindHost(ctx context.Context, id berth.HostID) (StoredHost, error) {
	item, err := s.Table.Get(ctx, pkHost, string(id))
	if err != nil {
		return StoredHost{}, rename(err, berth.CodeNotFound, noHost(id))
	}
	return s.hostOf(item)
}

func noHost(id berth.HostID) *berth.Error {
	return berth.Errorf(berth.CodeNotFound, "host %s does not exist", id)
}

// ListHosts returns a page in the order of ids.
func (s *Store) ListHosts(ctx context.Context, limit int, cursor string) ([]StoredHost, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{PK: pkHost, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]StoredHost, len(page.Items))
	for i, item := range page.Items {
		if out[i], err = s.hostOf(item); err != nil {
			return nil, "", err
		}
	}
	return out, page.Next, nil
}

// AllHosts returns every host, in the order of ids.
func (s *Store) AllHosts(ctx context.Context) ([]StoredHost, error) {
	hosts := []StoredHost{}
	err := s.walk(ctx, berth.Query{PK: pkHost}, func(item berth.Item) (bool, error) {
		h, err := s.hostOf(item)
		hosts = append(hosts, h)
		return true, err
	})
	return hosts, err
}

// ChangeHost lets change work on the record until it is written before anybody
// else's change. ErrUnchanged ends it without a write. Error: not_found.
func (s *Store) ChangeHost(ctx context.Context, id berth.HostID, change func(*StoredHost) error) (h StoredHost, err error) {
	what := "host " + string(id)
	err = s.race(ctx, what, func() error {
		if h, err = s.FindHost(ctx, id); err != nil {
			return err
		}
		if err := change(&h); err != nil {
			return unlessUnchanged(err)
		}
		item, err := h.item()
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, item)
		return berth.Wrap(err, "changing "+what)
	})
	h.Status = h.statusAt(s.Clock.Now())
	return h, err
}

// DeleteHost removes the record and the count of its places; an absent one is no error.
func (s *Store) DeleteHost(ctx context.Context, id berth.HostID) error {
	what := "host " + string(id)
	return s.race(ctx, what, func() error {
		var writes []berth.Write
		for _, key := range [][2]string{{pkHost, string(id)}, {pkLimit, placeScope(id)}} {
			item, err := s.Table.Get(ctx, key[0], key[1])
			if isNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			item.Body = nil
			writes = append(writes, berth.Write{Item: item, Delete: true})
		}
		if len(writes) == 0 {
			return nil
		}
		return berth.Wrap(s.Table.Transact(ctx, writes), "deleting "+what)
	})
}

// HostSandbox is an entry of the list of a host's sandboxes.
type HostSandbox struct {
	ID     berth.SandboxID
	Status berth.SandboxStatus
}

// ListHostSandboxes returns a page of the sandboxes that are or were on a host,
// oldest first. It reads the eventual index, which may lag: who must miss none
// goes by the host's places too.
func (s *Store) ListHostSandboxes(ctx context.Context, id berth.HostID, limit int, cursor string) ([]HostSandbox, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{Index: 2, PK: indexHost(id), Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]HostSandbox, len(page.Items))
	for i, item := range page.Items {
		out[i] = HostSandbox{berth.SandboxID(item.Index2.SK), berth.SandboxStatus(item.Projected)}
	}
	return out, page.Next, nil
}
