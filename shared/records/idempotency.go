package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Idempotent is what is kept of a request with an Idempotency-Key, for 24
// hours: never a body, so a shown-once value cannot come back.
type Idempotent struct {
	BodyHash string `json:"body_hash"`
	// Resource and HTTP are set when the request is done; Resource is empty while it is in progress.
	Resource string `json:"resource,omitempty"`
	HTTP     int    `json:"http,omitempty"`
	// ID is what the request is to call what it makes. Who takes over from one whose
	// server died goes on with it, so that what is there already is not made again.
	ID string `json:"id,omitempty"`
	// TakenOver says that another request began with the key and did not end.
	TakenOver bool `json:"-"`
	// StartedAt lets a request whose server died be taken over.
	StartedAt time.Time `json:"started_at"`
}

const (
	idempotencyKept = 24 * time.Hour
	idempotencyHeld = time.Minute // a request in progress for longer has died
)

// BeginIdempotent claims key for an operation, and says in record under which id.
// With done true, the request was finished earlier and record says with what. Errors: conflict while another
// one is in progress, invalid when the key was used with another body.
func (s *Store) BeginIdempotent(ctx context.Context, operation, key, bodyHash string) (record Idempotent, done bool, err error) {
	now := s.Clock.Now()
	for race := range maxRaces {
		s.giveWay(ctx, race)
		version, err := s.find(ctx, pkIdempotency(operation), key, &record)
		switch {
		case err == nil && record.BodyHash != bodyHash:
			return record, false, berth.FieldErrorf(berth.CodeInvalid, "Idempotency-Key", "was used with another body")
		case err == nil && record.Resource != "":
			return record, true, nil
		case err == nil && now.Sub(record.StartedAt) < idempotencyHeld:
			return record, false, berth.Errorf(berth.CodeConflict, "a request with this Idempotency-Key is in progress")
		case err != nil && !isNotFound(err):
			return record, false, err
		}
		record = Idempotent{BodyHash: bodyHash, ID: record.ID, TakenOver: err == nil, StartedAt: now}
		if record.ID == "" {
			record.ID = s.IDs.NewID()
		}
		if err := s.putIdempotent(ctx, operation, key, record, version); !isStale(err) {
			return record, false, err
		}
	}
	return record, false, berth.Errorf(berth.CodeConflict, "a request with this Idempotency-Key is in progress")
}

// EndIdempotent records the result; an empty resource gives the key up again,
// after a request that changed nothing.
func (s *Store) EndIdempotent(ctx context.Context, operation, key, resource string, http int) error {
	var record Idempotent
	version, err := s.find(ctx, pkIdempotency(operation), key, &record)
	if err != nil {
		return err
	}
	if resource == "" {
		return s.Table.Delete(ctx, pkIdempotency(operation), key, version)
	}
	record.Resource, record.HTTP = resource, http
	return s.putIdempotent(ctx, operation, key, record, version)
}

func (s *Store) putIdempotent(ctx context.Context, operation, key string, record Idempotent, version int64) error {
	body, err := encode(record)
	if err != nil {
		return err
	}
	_, err = s.Table.Put(ctx, berth.Item{
		PK: pkIdempotency(operation), SK: key, Version: version, Body: body,
		Expires: s.Clock.Now().Add(idempotencyKept),
	})
	return err
}
