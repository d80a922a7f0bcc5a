package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

func sandboxItem(sb berth.Sandbox, version int64) (berth.Item, error) {
	body, err := encode(sb)
	item := berth.Item{PK: pkSandbox, SK: string(sb.ID), Version: version, Body: body, Projected: string(sb.Status)}
	if sb.Host != "" {
		item.Index2 = berth.IndexKey{PK: indexHost(sb.Host), SK: string(sb.ID)}
	}
	return item, err
}

// CreateSandbox records the intent before a provider is called. One that is
// recorded already is returned as it is.
func (s *Store) CreateSandbox(ctx context.Context, sb berth.Sandbox) (berth.Sandbox, error) {
	sb.CreatedAt = s.Clock.Now()
	sb.UpdatedAt = sb.CreatedAt
	item, err := sandboxItem(sb, 0)
	if err != nil {
		return sb, err
	}
	if _, err = s.Table.Put(ctx, item); isStale(err) {
		return s.FindSandbox(ctx, sb.ID)
	}
	return sb, err
}

// FindSandbox returns not_found.
func (s *Store) FindSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	var sb berth.Sandbox
	_, err := s.find(ctx, pkSandbox, string(id), &sb)
	return sb, rename(err, berth.CodeNotFound, noSandbox(id))
}

func noSandbox(id berth.SandboxID) *berth.Error {
	return berth.Errorf(berth.CodeNotFound, "sandbox %s does not exist", id)
}

// ListSandboxes returns a page, oldest first.
func (s *Store) ListSandboxes(ctx context.Context, limit int, cursor string) ([]berth.Sandbox, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{PK: pkSandbox, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]berth.Sandbox, len(page.Items))
	for i, item := range page.Items {
		if err := decode(item, &out[i]); err != nil {
			return nil, "", err
		}
	}
	return out, page.Next, nil
}

// ChangeSandbox lets change work on the record until it is written before
// anybody else's change. ErrUnchanged ends it without a write.
func (s *Store) ChangeSandbox(ctx context.Context, id berth.SandboxID, change func(*berth.Sandbox) error) (sb berth.Sandbox, err error) {
	what := "sandbox " + string(id)
	err = s.race(ctx, what, func() error {
		sb = berth.Sandbox{}
		version, err := s.find(ctx, pkSandbox, string(id), &sb)
		if err != nil {
			return rename(err, berth.CodeNotFound, noSandbox(id))
		}
		if err := change(&sb); err != nil {
			return unlessUnchanged(err)
		}
		sb.UpdatedAt = s.Clock.Now()
		item, err := sandboxItem(sb, version)
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, item)
		return berth.Wrap(err, "changing "+what)
	})
	return sb, err
}

// DeleteSandbox removes the record and those of its commands; an absent one is no error.
func (s *Store) DeleteSandbox(ctx context.Context, id berth.SandboxID) error {
	err := s.walk(ctx, berth.Query{PK: pkCommands(id)}, func(item berth.Item) (bool, error) {
		err := s.Table.Delete(ctx, item.PK, item.SK, item.Version)
		return true, err
	})
	if err != nil {
		return berth.Wrap(err, "deleting commands of sandbox "+string(id))
	}
	item, err := s.Table.Get(ctx, pkSandbox, string(id))
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Table.Delete(ctx, pkSandbox, string(id), item.Version)
}

// ResolveSandbox finds the one sandbox whose id begins with prefix. Errors as ResolveRun.
func (s *Store) ResolveSandbox(ctx context.Context, prefix string) (berth.SandboxID, error) {
	prefix = berth.FoldID(prefix)
	if berth.IsULID(prefix) {
		return berth.SandboxID(prefix), nil
	}
	if !berth.IsIDPrefix(prefix) {
		return "", berth.Errorf(berth.CodeInvalid, "sandbox id must be a lower-case ULID or its first 6 characters or more")
	}
	var found []string
	err := s.walk(ctx, berth.Query{PK: pkSandbox, Prefix: prefix, Limit: maxCandidates}, func(item berth.Item) (bool, error) {
		found = append(found, item.SK)
		return len(found) < maxCandidates, nil
	})
	if err != nil {
		return "", err
	}
	id, err := unique("sandbox", prefix, found)
	return berth.SandboxID(id), err
}
