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
func (s *Store) OpenInstallation(ctx context.Context) (Installation, error) {
	for race := range maxRaces {
		s.giveWay(ctx, race)
		var in Installation
		_, err := s.find(ctx, pkMeta, skInstallation, &in)
		if !isNotFound(err) {
			return in, err
		}
		in = Installation{ID: berth.InstallationID(s.IDs.NewID()), CreatedAt: s.Clock.Now()}
		body, err := encode(in)
		if err != nil {
			return in, err
		}
		_, err = s.Table.Put(ctx, berth.Item{PK: pkMeta, SK: skInstallation, Body: body})
		if !isStale(err) {
			return in, err
		}
	}
	return Installation{}, berth.Errorf(berth.CodeUnavailable, "the installation's record could not be written")
}

func (s *Store) installedAt(ctx context.Context) (time.Time, error) {
	in, err := s.OpenInstallation(ctx)
	return in.CreatedAt, err
}
