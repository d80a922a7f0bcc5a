package records

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	skSnapshotScope = "snapshot-scope"
	scopeBytes      = 32
)

type snapshotScope struct {
	Scope string `json:"scope"`
}

// SnapshotScope is what this installation's names of built snapshots are keyed
// with, made the first time. It opens nothing: who has it can tell which snapshot
// a Dockerfile has. So it is in the table, where functions may write, and not
// among the secrets, where those that provision may not.
func (s *Store) SnapshotScope(ctx context.Context) (berth.SecretValue, error) {
	var found snapshotScope
	err := s.race(ctx, "the scope of snapshots", func() error {
		if _, err := s.find(ctx, pkMeta, skSnapshotScope, &found); !isNotFound(err) {
			return err
		}
		fresh := make([]byte, scopeBytes)
		_, _ = rand.Read(fresh) // it never fails
		found.Scope = hex.EncodeToString(fresh)
		body, err := encode(found)
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, berth.Item{PK: pkMeta, SK: skSnapshotScope, Body: body})
		return err
	})
	return berth.NewSecretValue([]byte(found.Scope)), err
}
