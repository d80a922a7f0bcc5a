package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Installation identifies one control plane.
type Installation struct {
	ID        berth.InstallationID `json:"id"`
	CreatedAt time.Time            `json:"created_at"`
}

const skInstallation = "installation"

// OpenInstallation returns the installation of this table and makes it the first time.
func (s *Store) OpenInstallation(ctx context.Context) (in Installation, err error) {
	err = s.race(ctx, "the installation's record", func() error {
		if _, err := s.find(ctx, pkMeta, skInstallation, &in); !isNotFound(err) {
			return err
		}
		in = Installation{ID: berth.InstallationID(s.IDs.NewID()), CreatedAt: s.Clock.Now()}
		body, err := encode(in)
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, berth.Item{PK: pkMeta, SK: skInstallation, Body: body})
		return err
	})
	return in, err
}

func (s *Store) installedAt(ctx context.Context) (time.Time, error) {
	in, err := s.OpenInstallation(ctx)
	return in.CreatedAt, err
}
