package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// StoredEnvironment is an environment with the version that its ETag carries.
type StoredEnvironment struct {
	berth.Environment
	Version int64
}

func environmentItem(e berth.Environment, version int64) (berth.Item, error) {
	body, err := encode(e)
	return berth.Item{PK: pkEnvironment, SK: string(e.ID), Version: version, Body: body}, err
}

// FindEnvironment returns not_found for one that is not stored. The synthetic
// `local` is never stored.
func (s *Store) FindEnvironment(ctx context.Context, id berth.EnvironmentID) (StoredEnvironment, error) {
	var e StoredEnvironment
	version, err := s.find(ctx, pkEnvironment, string(id), &e.Environment)
	e.Version = version
	return e, rename(err, berth.CodeNotFound, berth.Errorf(berth.CodeNotFound, "environment %s does not exist", id))
}

// ListEnvironments returns a page in the order of ids.
func (s *Store) ListEnvironments(ctx context.Context, limit int, cursor string) ([]StoredEnvironment, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{PK: pkEnvironment, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]StoredEnvironment, 0, len(page.Items))
	for _, item := range page.Items {
		e := StoredEnvironment{Version: item.Version}
		if err := decode(item, &e.Environment); err != nil {
			return nil, "", err
		}
		out = append(out, e)
	}
	return out, page.Next, nil
}

// CreateEnvironment returns conflict when the id is taken.
func (s *Store) CreateEnvironment(ctx context.Context, e berth.Environment) (StoredEnvironment, error) {
	item, err := environmentItem(e, 0)
	if err != nil {
		return StoredEnvironment{}, err
	}
	version, err := s.Table.Put(ctx, item)
	return StoredEnvironment{e, version},
		rename(err, berth.CodeStale, berth.Errorf(berth.CodeConflict, "environment %s exists already", e.ID))
}

// ReplaceEnvironment returns stale when the stored version is another one.
func (s *Store) ReplaceEnvironment(ctx context.Context, e berth.Environment, version int64) (StoredEnvironment, error) {
	item, err := environmentItem(e, version)
	if err != nil {
		return StoredEnvironment{}, err
	}
	next, err := s.Table.Put(ctx, item)
	return StoredEnvironment{e, next}, rename(err, berth.CodeStale, staleEnvironment(e.ID))
}

// DeleteEnvironment returns stale when the stored version is another one.
func (s *Store) DeleteEnvironment(ctx context.Context, id berth.EnvironmentID, version int64) error {
	return rename(s.Table.Delete(ctx, pkEnvironment, string(id), version), berth.CodeStale, staleEnvironment(id))
}

func staleEnvironment(id berth.EnvironmentID) *berth.Error {
	return berth.Errorf(berth.CodeStale, "environment %s was changed since you read it", id)
}

// SeedOnce creates e the first time that this installation is opened and never
// again: a person's deletion of it lasts.
func (s *Store) SeedOnce(ctx context.Context, e berth.Environment) error {
	mark := berth.Item{PK: pkMeta, SK: "seeded#" + string(e.ID), Body: markBody()}
	item, err := environmentItem(e, 0)
	if err != nil {
		return err
	}
	if _, err := s.Table.Get(ctx, mark.PK, mark.SK); !isNotFound(err) {
		return err
	}
	err = s.Table.Transact(ctx, []berth.Write{{Item: mark}, {Item: item}})
	if isStale(err) { // another server was first, or the id is in use
		return nil
	}
	return err
}
