// Package records keeps berth's nouns in the table: one file an access pattern.
// Every write is conditional, every change of a run is one transaction with the
// events that tell of it.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Schema is the version of the item bodies that this code writes. Items of a
// newer one are refused rather than half understood.
const Schema = 1

// Store reads and writes records. All fields are required but Notifier.
type Store struct {
	Table    berth.Table
	Blobs    berth.Blobs
	Clock    berth.Clock
	IDs      berth.IDs
	Notifier berth.Notifier
}

const (
	maxRaces  = 50 // optimistic retries before a writer gives up
	freeRaces = 3  // of them without a pause
)

// giveWay lets the others write first, the longer the more often they were
// faster: without it many writers of one record would starve each other.
func (s *Store) giveWay(ctx context.Context, race int) {
	if race < freeRaces {
		return
	}
	longest := time.Millisecond << min(race-freeRaces, 7)
	// An ended context is seen by the read that follows.
	_ = s.Clock.Sleep(ctx, rand.N(longest))
}

// race calls try until no other writer is faster: try reads again and writes on
// the condition of what it has read. Errors: unavailable when others are faster
// over and over; what try returns but stale.
func (s *Store) race(ctx context.Context, what string, try func() error) error {
	for race := range maxRaces {
		s.giveWay(ctx, race)
		if err := try(); !isStale(err) {
			return err
		}
	}
	return berth.Errorf(berth.CodeUnavailable, "%s is being changed by others: try again", what)
}

// envelope is the form of every body: a schema version beside the value.
type envelope struct {
	Schema int             `json:"schema"`
	Value  json.RawMessage `json:"value"`
}

func encode(v any) ([]byte, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{Schema, value})
}

func decode(item berth.Item, into any) error {
	var e envelope
	if err := json.Unmarshal(item.Body, &e); err != nil {
		return fmt.Errorf("record %s/%s: %w", item.PK, item.SK, err)
	}
	if e.Schema > Schema {
		return berth.Errorf(berth.CodeUnavailable,
			"record %s/%s has schema %d, this berth reads up to %d: update berth", item.PK, item.SK, e.Schema, Schema)
	}
	if err := json.Unmarshal(e.Value, into); err != nil {
		return fmt.Errorf("record %s/%s: %w", item.PK, item.SK, err)
	}
	return nil
}

func (s *Store) find(ctx context.Context, pk, sk string, into any) (version int64, err error) {
	item, err := s.Table.Get(ctx, pk, sk)
	if err != nil {
		return 0, err
	}
	return item.Version, decode(item, into)
}

// walk visits the items of a query in order, page after page, until visit
// returns false.
func (s *Store) walk(ctx context.Context, q berth.Query, visit func(berth.Item) (more bool, err error)) error {
	if q.Limit == 0 {
		q.Limit = berth.MaxQueryLimit
	}
	for {
		page, err := s.Table.Query(ctx, q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			more, err := visit(item)
			if err != nil || !more {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

func isStale(err error) bool { return berth.CodeOf(err) == berth.CodeStale }

func isNotFound(err error) bool { return berth.CodeOf(err) == berth.CodeNotFound }

// rename gives err, if it has the code, the message of the noun that was asked for.
func rename(err error, code berth.Code, as *berth.Error) error {
	var e *berth.Error
	if errors.As(err, &e) && e.Code == code {
		return as
	}
	return err
}
