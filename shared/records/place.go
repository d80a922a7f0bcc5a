package records

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// places counts what sandboxes take of one host. The item is made when the host
// joins: without it, or once it is closed, nothing is placed there.
type places struct {
	Held   map[berth.SandboxID]place `json:"held"`
	Closed bool                      `json:"closed,omitempty"`

	host    berth.HostID
	version int64
}

// place is what one sandbox takes.
type place struct {
	CPU         int   `json:"cpu"`
	MemoryBytes int64 `json:"memory"`
	// Resting sandboxes are stopped: they are there and take nothing.
	Resting bool      `json:"resting,omitempty"`
	At      time.Time `json:"at"`
}

// placeLease is how long a place is kept whose sandbox is not recorded as being
// on the host: who took it has died if it takes longer.
const placeLease = 10 * time.Minute

// maxPlaces bounds the item that they are kept in, stopped sandboxes included.
const maxPlaces = 500

const prefixPlaces = "host/"

func placeScope(id berth.HostID) string { return prefixPlaces + string(id) }

func (p places) item() (berth.Item, error) {
	if p.Held == nil {
		p.Held = map[berth.SandboxID]place{}
	}
	body, err := encode(p)
	return berth.Item{PK: pkLimit, SK: placeScope(p.host), Version: p.version, Body: body}, err
}

// Usage is what is taken of a host.
type Usage struct {
	berth.Demand
	Sandboxes int
	Closed    bool
}

func (p places) usage() Usage {
	u := Usage{Sandboxes: len(p.Held), Closed: p.Closed}
	for _, held := range p.Held {
		if !held.Resting {
			u.CPU += held.CPU
			u.MemoryBytes += held.MemoryBytes
		}
	}
	return u
}

// fits reports whether a host with a capacity has room beside what is held.
func (p places) fits(capacity berth.HostCapacity, d berth.Demand) bool {
	u := p.usage()
	return len(p.Held) < maxPlaces && u.CPU+d.CPU <= capacity.CPU && d.MemoryBytes <= capacity.MemoryBytes-u.MemoryBytes
}

// ListUsage returns what is taken of every host that has joined.
func (s *Store) ListUsage(ctx context.Context) (map[berth.HostID]Usage, error) {
	all := map[berth.HostID]Usage{}
	err := s.walk(ctx, berth.Query{PK: pkLimit, Prefix: prefixPlaces}, func(item berth.Item) (bool, error) {
		var p places
		err := decode(item, &p)
		all[berth.HostID(strings.TrimPrefix(item.SK, prefixPlaces))] = p.usage()
		return true, err
	})
	return all, err
}

// TakePlace gives a sandbox what it demands of a host, or says that there is not
// so much. A sandbox that has its place keeps it. What sandboxes hold that are
// gone is given back when it is needed, so a place cannot leak.
func (s *Store) TakePlace(ctx context.Context, host berth.Host, sandbox berth.SandboxID, d berth.Demand) (taken bool, err error) {
	err = s.changePlaces(ctx, host.ID, func(p *places) (bool, error) {
		held, had := p.Held[sandbox]
		taken = had && !held.Resting
		if taken || p.Closed {
			return false, nil
		}
		delete(p.Held, sandbox)
		dropped := false
		if !p.fits(host.HostCapacity, d) {
			if dropped, err = s.dropGone(ctx, p); err != nil {
				return false, err
			}
		}
		if taken = p.fits(host.HostCapacity, d); taken {
			p.Held[sandbox] = place{CPU: d.CPU, MemoryBytes: d.MemoryBytes, At: s.Clock.Now()}
		} else if had {
			p.Held[sandbox] = held
		}
		return taken || dropped, nil
	})
	return taken && err == nil, err
}

// LeavePlace gives back what a sandbox holds; one that holds nothing is no error.
func (s *Store) LeavePlace(ctx context.Context, host berth.HostID, sandbox berth.SandboxID) error {
	return s.changePlaces(ctx, host, func(p *places) (bool, error) {
		_, held := p.Held[sandbox]
		delete(p.Held, sandbox)
		return held, nil
	})
}

// RestPlace gives back what a sandbox holds while it is stopped. It still counts
// as being on the host.
func (s *Store) RestPlace(ctx context.Context, host berth.HostID, sandbox berth.SandboxID) error {
	return s.changePlaces(ctx, host, func(p *places) (bool, error) {
		held, ok := p.Held[sandbox]
		if !ok || held.Resting {
			return false, nil
		}
		held.Resting = true
		p.Held[sandbox] = held
		return true, nil
	})
}

// WakePlace takes again what a sandbox had before it rested, or says that the
// host has not so much left. One that never had a place is let be.
func (s *Store) WakePlace(ctx context.Context, host berth.Host, sandbox berth.SandboxID) (awake bool, err error) {
	err = s.changePlaces(ctx, host.ID, func(p *places) (bool, error) {
		held, ok := p.Held[sandbox]
		awake = !ok || !held.Resting
		if awake {
			return false, nil
		}
		dropped := false
		d := berth.Demand{CPU: held.CPU, MemoryBytes: held.MemoryBytes}
		if !p.fits(host.HostCapacity, d) {
			if dropped, err = s.dropGone(ctx, p); err != nil {
				return false, err
			}
		}
		if awake = p.fits(host.HostCapacity, d); awake {
			held.Resting = false
			p.Held[sandbox] = held
		}
		return awake || dropped, nil
	})
	return awake && err == nil, err
}

// HealPlaces gives back what sandboxes hold that are gone.
func (s *Store) HealPlaces(ctx context.Context, host berth.HostID) error {
	return s.changePlaces(ctx, host, func(p *places) (bool, error) { return s.dropGone(ctx, p) })
}

// ClosePlaces lets nothing more be placed on a host, and returns the sandboxes that
// are on it. Without force it is a conflict while there are any.
func (s *Store) ClosePlaces(ctx context.Context, host berth.HostID, force bool) (there []berth.SandboxID, err error) {
	err = s.changePlaces(ctx, host, func(p *places) (bool, error) {
		dropped, err := s.dropGone(ctx, p)
		if err != nil {
			return false, err
		}
		there = slices.Sorted(maps.Keys(p.Held))
		if len(there) > 0 && !force {
			return dropped, nil
		}
		closed := !p.Closed
		p.Closed = true
		return closed || dropped, nil
	})
	if err == nil && len(there) > 0 && !force {
		const shown = 5
		names := make([]string, 0, shown)
		for _, id := range there[:min(len(there), shown)] {
			names = append(names, string(id))
		}
		noun := "sandboxes"
		if len(there) == 1 {
			noun = "sandbox"
		}
		return there, berth.Errorf(berth.CodeConflict, "host %s has %d %s: %s", host, len(there), noun, strings.Join(names, ", "))
	}
	return there, err
}

// dropGone drops the places of sandboxes that are destroyed, and those of which
// no record says that they are on the host once their lease is over.
func (s *Store) dropGone(ctx context.Context, p *places) (dropped bool, err error) {
	for id, held := range p.Held {
		sb, err := s.FindSandbox(ctx, id)
		gone := err == nil && sb.Status == berth.SandboxDestroyed
		elsewhere := isNotFound(err) || err == nil && sb.Host != p.host
		if err != nil && !isNotFound(err) {
			return false, err
		}
		if gone || elsewhere && s.Clock.Now().Sub(held.At) > placeLease {
			delete(p.Held, id)
			dropped = true
		}
	}
	return dropped, nil
}

// changePlaces works on the places of a host; of one without any, change sees
// closed ones, and nothing is written.
func (s *Store) changePlaces(ctx context.Context, host berth.HostID, change func(*places) (changed bool, err error)) error {
	what := "places on host " + string(host)
	return s.race(ctx, what, func() error {
		p := places{host: host}
		version, err := s.find(ctx, pkLimit, placeScope(host), &p)
		absent := isNotFound(err)
		if err != nil && !absent {
			return err
		}
		p.version, p.Closed = version, p.Closed || absent
		changed, err := change(&p)
		if err != nil || !changed || absent {
			return err
		}
		item, err := p.item()
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, item)
		return berth.Wrap(err, "changing "+what)
	})
}
