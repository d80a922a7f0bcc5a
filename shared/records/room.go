package records

import (
	"context"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

// room is who holds the places of a limited scope.
type room struct {
	Runs []berth.RunID `json:"runs"`
}

// maxRoom bounds the item that a scope's holders are kept in.
const maxRoom = 1000

// TakeRoom gives run one of the places of a scope, or says that all are taken.
// A run that has a place keeps it. A holder whose run has ended or is gone loses
// its place when the room is full, so a place cannot leak.
func (s *Store) TakeRoom(ctx context.Context, scope string, run berth.RunID, places int) (taken bool, err error) {
	err = s.changeRoom(ctx, scope, func(r *room) (bool, error) {
		taken = slices.Contains(r.Runs, run)
		if taken {
			return false, nil
		}
		dropped := false
		if len(r.Runs) >= min(places, maxRoom) {
			if dropped, err = s.dropEnded(ctx, r); err != nil {
				return false, err
			}
		}
		if len(r.Runs) >= min(places, maxRoom) {
			return dropped, nil
		}
		taken = true
		r.Runs = append(r.Runs, run)
		return true, nil
	})
	return taken && err == nil, err
}

// LeaveRoom gives the place of a run back; one that has none is no error.
func (s *Store) LeaveRoom(ctx context.Context, scope string, run berth.RunID) error {
	return s.changeRoom(ctx, scope, func(r *room) (bool, error) {
		before := len(r.Runs)
		r.Runs = slices.DeleteFunc(r.Runs, func(id berth.RunID) bool { return id == run })
		return len(r.Runs) != before, nil
	})
}

func (s *Store) dropEnded(ctx context.Context, r *room) (dropped bool, err error) {
	live, err := s.ListLiveRuns(ctx)
	if err != nil {
		return false, err
	}
	before := len(r.Runs)
	r.Runs = slices.DeleteFunc(r.Runs, func(id berth.RunID) bool { return !slices.Contains(live, id) })
	return len(r.Runs) != before, nil
}

func (s *Store) changeRoom(ctx context.Context, scope string, change func(*room) (changed bool, err error)) error {
	what := "limit " + scope
	return s.race(ctx, what, func() error {
		var r room
		version, err := s.find(ctx, pkLimit, scope, &r)
		if err != nil && !isNotFound(err) {
			return err
		}
		changed, err := change(&r)
		if err != nil || !changed {
			return err
		}
		body, err := encode(r)
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, berth.Item{PK: pkLimit, SK: scope, Version: version, Body: body})
		return berth.Wrap(err, "changing "+what)
	})
}
