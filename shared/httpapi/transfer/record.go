package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// record is a transfer as it is kept.
type record struct {
	berth.Transfer
	// LeaseUntil is when a move counts as abandoned, unless it is renewed.
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	// Handed says that the provider moves the file, and has to be asked how far it is.
	Handed bool `json:"handed,omitempty"`
}

const (
	partition = "transfer"
	schema    = 1
	// kept is how long a transfer stays after its URL has expired.
	kept = time.Hour
	// swept is the most old transfers that one new one clears away.
	swept = 20
)

type envelope struct {
	Schema int    `json:"schema"`
	Value  record `json:"value"`
}

func (r record) abandoned(now time.Time) bool {
	return r.Status == berth.TransferMoving && now.After(r.LeaseUntil)
}

func (r *record) fail(code, message, remediation string) {
	r.Status = berth.TransferFailed
	r.Reason = &berth.Reason{Code: code, Message: message, Remediation: remediation}
}

func (s *Service) put(ctx context.Context, r record, version int64) (int64, error) {
	r.URL = ""
	b, err := json.Marshal(envelope{schema, r})
	if err != nil {
		return 0, fmt.Errorf("recording transfer %s: %w", r.ID, err)
	}
	version, err = s.cfg.Table.Put(ctx, berth.Item{PK: partition, SK: r.ID, Version: version, Body: b})
	return version, berth.Wrap(err, "recording transfer "+r.ID)
}

func (s *Service) find(ctx context.Context, id string) (record, int64, error) {
	absent := berth.Errorf(berth.CodeNotFound, "transfer %s does not exist, or has expired", id)
	if !berth.IsULID(id) {
		return record{}, 0, berth.FieldErrorf(berth.CodeInvalid, "path.id", "must be a transfer's id, whole")
	}
	item, err := s.cfg.Table.Get(ctx, partition, id)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return record{}, 0, absent
	}
	if err != nil {
		return record{}, 0, berth.Wrap(err, "reading transfer "+id)
	}
	r, err := decode(item)
	return r, item.Version, err
}

func decode(item berth.Item) (record, error) {
	var e envelope
	if err := json.Unmarshal(item.Body, &e); err != nil {
		return e.Value, fmt.Errorf("reading transfer %s: %w", item.SK, err)
	}
	if e.Schema > schema {
		return e.Value, berth.Errorf(berth.CodeUnavailable, "transfer %s was recorded by a newer berth: update berth", item.SK)
	}
	return e.Value, nil
}

// Sweep clears away the transfers that nobody can use any more, with their bytes:
// what Create does for some when there is a next one.
func (s *Service) Sweep(ctx context.Context) error {
	q := berth.Query{PK: partition, Limit: swept}
	for {
		cursor, err := s.sweep(ctx, q)
		if err != nil || cursor == "" {
			return berth.Wrap(err, "clearing transfers away")
		}
		q.Cursor = cursor
	}
}

// sweep does a page. What it cannot do now, the next one does.
func (s *Service) sweep(ctx context.Context, q berth.Query) (next string, err error) {
	page, err := s.cfg.Table.Query(ctx, q)
	if err != nil {
		return "", err
	}
	now := s.cfg.Clock.Now()
	for _, item := range page.Items {
		r, err := decode(item)
		if err != nil || now.Before(r.ExpiresAt.Add(kept)) || (r.Status == berth.TransferMoving && !r.abandoned(now)) {
			continue
		}
		if s.cfg.Blobs.DeletePrefix(ctx, prefixOf(r.ID)) == nil {
			_ = s.cfg.Table.Delete(ctx, item.PK, item.SK, item.Version)
		}
	}
	return page.Next, nil
}

func prefixOf(id string) string { return "transfers/" + id + "/" }

// blobOf is the key of a transfer's bytes.
func blobOf(id string) string { return prefixOf(id) + "data" }
