package control

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// localCursor continues a list of environments with the synthetic one, when it
// did not fit behind the stored ones.
const localCursor = "local~"

// FindEnvironment returns a stored environment, or the synthetic `local` (of
// version 0) when the local provider is on. Error: not_found.
func (p *Plane) FindEnvironment(ctx context.Context, id berth.EnvironmentID) (records.StoredEnvironment, error) {
	if id != berth.LocalEnvironmentID {
		return p.Records.FindEnvironment(ctx, id)
	}
	_, err := p.Providers.Find(berth.ProviderLocal)
	var off *berth.Error
	if errors.As(err, &off) {
		return records.StoredEnvironment{}, &berth.Error{
			Code: berth.CodeNotFound, Message: "environment local does not exist: " + off.Message, Remediation: off.Remediation,
		}
	}
	return local(), err
}

func local() records.StoredEnvironment {
	return records.StoredEnvironment{Environment: berth.LocalEnvironment()}
}

// ListEnvironments returns a page of stored environments in the order of ids,
// and behind the last of them `local`, when the local provider is on.
func (p *Plane) ListEnvironments(ctx context.Context, limit int, cursor string) ([]records.StoredEnvironment, string, error) {
	_, hasLocal := p.Providers[berth.ProviderLocal]
	if hasLocal && cursor == localCursor {
		return []records.StoredEnvironment{local()}, "", nil
	}
	page, next, err := p.Records.ListEnvironments(ctx, limit, cursor)
	if err != nil || next != "" || !hasLocal {
		return page, next, err
	}
	if len(page) >= limit {
		return page, localCursor, nil
	}
	return append(page, local()), "", nil
}

// CreateEnvironment stores a new environment. Errors: invalid with every
// problem; conflict when the id is taken or reserved.
func (p *Plane) CreateEnvironment(ctx context.Context, e berth.Environment) (records.StoredEnvironment, error) {
	if err := checkEnvironment(e); err != nil {
		return records.StoredEnvironment{}, err
	}
	return p.Records.CreateEnvironment(ctx, berth.NormalizeEnvironment(e))
}

// ReplaceEnvironment replaces the stored version. Errors: invalid with every
// problem; conflict for a reserved id; not_found; stale.
func (p *Plane) ReplaceEnvironment(ctx context.Context, e berth.Environment, version int64) (records.StoredEnvironment, error) {
	if err := checkEnvironment(e); err != nil {
		return records.StoredEnvironment{}, err
	}
	stored, err := p.Records.ReplaceEnvironment(ctx, berth.NormalizeEnvironment(e), version)
	return stored, p.staleOrGone(ctx, e.ID, err)
}

// DeleteEnvironment removes the stored version. Errors: conflict for a reserved
// id; not_found; stale.
func (p *Plane) DeleteEnvironment(ctx context.Context, id berth.EnvironmentID, version int64) error {
	if err := berth.CheckReserved(id); err != nil {
		return err
	}
	return p.staleOrGone(ctx, id, p.Records.DeleteEnvironment(ctx, id, version))
}

func checkEnvironment(e berth.Environment) error {
	if err := berth.CheckReserved(e.ID); err != nil {
		return err
	}
	return berth.Invalid(berth.ValidateEnvironment(e))
}

// staleOrGone tells a change of what does not exist from one of what has changed.
func (p *Plane) staleOrGone(ctx context.Context, id berth.EnvironmentID, err error) error {
	if berth.CodeOf(err) != berth.CodeStale {
		return err
	}
	if _, found := p.Records.FindEnvironment(ctx, id); berth.CodeOf(found) == berth.CodeNotFound {
		return found
	}
	return err
}
