package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// StoredKey is an API key with what is kept beside it. Two items hold it, by id
// and by hash; they are always written together and have the same version.
type StoredKey struct {
	berth.Key
	Hash    string `json:"hash"` // SHA-256 of the value, in hex
	Version int64  `json:"-"`
}

// keptExpired is how long an expired key is still listed, and told to be expired
// rather than unknown.
const keptExpired = 30 * 24 * time.Hour

func (k StoredKey) writes(remove bool) ([]berth.Write, error) {
	body, err := encode(k)
	if err != nil {
		return nil, err
	}
	item := berth.Item{PK: pkKey, SK: string(k.ID), Version: k.Version, Body: body}
	if k.ExpiresAt != nil {
		item.Expires = k.ExpiresAt.Add(keptExpired)
	}
	byHash := item
	byHash.PK, byHash.SK = pkKeyHash, k.Hash
	return []berth.Write{{Item: item, Delete: remove}, {Item: byHash, Delete: remove}}, nil
}

// CreateKey returns conflict when the id or the hash is taken.
func (s *Store) CreateKey(ctx context.Context, key berth.Key, hash string) error {
	writes, err := StoredKey{Key: key, Hash: hash}.writes(false)
	if err != nil {
		return err
	}
	return rename(s.Table.Transact(ctx, writes), berth.CodeStale, berth.Errorf(berth.CodeConflict, "key %s exists already", key.ID))
}

// FindKey returns not_found.
func (s *Store) FindKey(ctx context.Context, id berth.KeyID) (berth.Key, error) {
	k, err := s.findKey(ctx, pkKey, string(id))
	return k.Key, rename(err, berth.CodeNotFound, noKey(id))
}

// FindKeyByHash returns not_found. It is one read, as every request makes it.
func (s *Store) FindKeyByHash(ctx context.Context, hash string) (StoredKey, error) {
	return s.findKey(ctx, pkKeyHash, hash)
}

func (s *Store) findKey(ctx context.Context, pk, sk string) (k StoredKey, err error) {
	k.Version, err = s.find(ctx, pk, sk, &k)
	return k, err
}

// ListKeys returns a page in the order of creation.
func (s *Store) ListKeys(ctx context.Context, limit int, cursor string) ([]berth.Key, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{PK: pkKey, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]berth.Key, len(page.Items))
	for i, item := range page.Items {
		if err := decode(item, &out[i]); err != nil {
			return nil, "", err
		}
	}
	return out, page.Next, nil
}

// ResolveKey finds the one key whose id begins with prefix (6 characters or
// more). Errors: invalid for what is no prefix, not_found, conflict with the
// candidates when there are several.
func (s *Store) ResolveKey(ctx context.Context, prefix string) (berth.KeyID, error) {
	prefix = berth.FoldID(prefix)
	if berth.IsULID(prefix) {
		return berth.KeyID(prefix), nil
	}
	if !berth.IsIDPrefix(prefix) {
		return "", berth.Errorf(berth.CodeInvalid, "key id must be a lower-case ULID or its first 6 characters or more")
	}
	var found []string
	err := s.walk(ctx, berth.Query{PK: pkKey, Prefix: prefix, Limit: maxCandidates}, func(item berth.Item) (bool, error) {
		found = append(found, item.SK)
		return len(found) < maxCandidates, nil
	})
	if err != nil {
		return "", err
	}
	id, err := unique("key", prefix, found)
	return berth.KeyID(id), err
}

// UseKey records that a key, as it was found, was used at a time. A key that was
// removed or recorded by somebody else in the meantime stays as it is: stale.
func (s *Store) UseKey(ctx context.Context, key StoredKey, at time.Time) error {
	key.LastUsedAt = &at
	writes, err := key.writes(false)
	if err != nil {
		return err
	}
	return s.Table.Transact(ctx, writes)
}

// DeleteKey removes a key, which counts for no request that comes after it.
// Error: not_found.
func (s *Store) DeleteKey(ctx context.Context, id berth.KeyID) error {
	return s.race(ctx, "key "+string(id), func() error {
		k, err := s.findKey(ctx, pkKey, string(id))
		if err != nil {
			return rename(err, berth.CodeNotFound, noKey(id))
		}
		writes, err := k.writes(true)
		if err != nil {
			return err
		}
		return s.Table.Transact(ctx, writes)
	})
}

func noKey(id berth.KeyID) *berth.Error {
	return berth.Errorf(berth.CodeNotFound, "key %s does not exist", id)
}
