package access

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Keys makes API keys. All fields are required.
type Keys struct {
	Records *records.Store
	Clock   berth.Clock
	IDs     berth.IDs
	// Random is a source of random bytes that nobody can foresee.
	Random io.Reader
}

// Create makes a key with an id on behalf of by, which must have every scope that
// it gives. The value is not kept. Errors: invalid with every fault of req,
// forbidden, conflict when the id is taken.
func (k *Keys) Create(ctx context.Context, id berth.KeyID, by berth.Principal, req berth.KeyRequest) (berth.Key, berth.SecretValue, error) {
	if err := berth.Invalid(berth.ValidateKeyRequest(req)); err != nil {
		return berth.Key{}, berth.SecretValue{}, err
	}
	if err := mayGrant(by, req.Scopes); err != nil {
		return berth.Key{}, berth.SecretValue{}, err
	}
	grant := berth.Key{ID: id, Name: req.Name, Scopes: req.Scopes, CreatedBy: by.Name}
	if req.ExpiresIn != "" {
		d, err := req.ExpiresIn.Parse()
		if err != nil {
			return berth.Key{}, berth.SecretValue{}, err
		}
		at := k.Clock.Now().Add(d).UTC().Truncate(time.Millisecond)
		grant.ExpiresAt = &at
	}
	return k.Issue(ctx, grant)
}

// mayGrant is forbidden unless by has all scopes itself.
func mayGrant(by berth.Principal, scopes []berth.Scope) error {
	var lacks []string
	for _, scope := range berth.SortScopes(scopes) {
		if !slices.Contains(by.Scopes, scope) {
			lacks = append(lacks, string(scope))
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return berth.FieldErrorf(berth.CodeForbidden, "scopes", "a key gives only scopes that it has itself; this one lacks %s", strings.Join(lacks, ", "))
}

// Issue makes a key as it is granted, asking nobody: for the first key of an
// installation and for hosts. Its time of creation and shown prefix are filled
// in, and its id when it has none.
func (k *Keys) Issue(ctx context.Context, grant berth.Key) (berth.Key, berth.SecretValue, error) {
	made, hash, value, err := k.Make(grant)
	if err != nil {
		return berth.Key{}, berth.SecretValue{}, err
	}
	if err := k.Records.CreateKey(ctx, made, hash); err != nil {
		return berth.Key{}, berth.SecretValue{}, fmt.Errorf("recording key %s: %w", made.ID, err)
	}
	return made, value, nil
}

// Make is Issue without the record, for who records the key together with what
// it is for.
func (k *Keys) Make(grant berth.Key) (made berth.Key, hash string, shown berth.SecretValue, err error) {
	value, err := NewValue(k.Random)
	if err != nil {
		return berth.Key{}, "", berth.SecretValue{}, err
	}
	if grant.ID == "" {
		grant.ID = berth.KeyID(k.IDs.NewID())
	}
	grant.CreatedAt, grant.LastUsedAt = k.Clock.Now(), nil
	grant.Prefix, grant.Scopes = Shown(value), berth.SortScopes(grant.Scopes)
	return grant, HashOf(value), berth.NewSecretValue([]byte(value)), nil
}
