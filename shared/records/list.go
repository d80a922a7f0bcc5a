package records

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/berth-dev/berth/shared/berth"
)

// ListRuns returns a page of runs, newest first. It reads the eventual index: a
// run that was created this moment may be missing. The cursor is the id of the
// last run of the page before.
func (s *Store) ListRuns(ctx context.Context, limit int, cursor string) ([]berth.RunSummary, string, error) {
	oldest, err := s.installedAt(ctx)
	if err != nil {
		return nil, "", err
	}
	from := s.Clock.Now()
	if cursor != "" {
		if from, err = idTime(cursor); err != nil {
			return nil, "", berth.Errorf(berth.CodeMalformed, "cursor is not one that this list gave")
		}
	}
	runs := []berth.RunSummary{}
	for month := from; !month.Before(monthStart(oldest)); month = monthStart(month).Add(-time.Hour) {
		q := berth.Query{Index: 1, PK: pkMonth(month), Before: cursor, Descending: true, Limit: limit}
		err := s.walk(ctx, q, func(item berth.Item) (bool, error) {
			run, err := summaryOf(item)
			runs = append(runs, run)
			return len(runs) < limit, err
		})
		if err != nil {
			return nil, "", err
		}
		if len(runs) == limit {
			return runs, string(runs[limit-1].ID), nil
		}
	}
	return runs, "", nil
}

// ResolveRun finds the one run whose id begins with prefix (6 characters or
// more). Errors: invalid for what is no prefix, not_found, conflict with the
// candidates when there are several.
func (s *Store) ResolveRun(ctx context.Context, prefix string) (berth.RunID, error) {
	prefix = berth.FoldID(prefix)
	if berth.IsULID(prefix) {
		return berth.RunID(prefix), nil
	}
	if !berth.IsIDPrefix(prefix) {
		return "", berth.Errorf(berth.CodeInvalid, "run id must be a lower-case ULID or its first 6 characters or more")
	}
	first, last, err := prefixTimes(prefix)
	if err != nil {
		return "", err
	}
	var found []string
	for month := monthStart(first); !month.After(last); month = month.AddDate(0, 1, 0) {
		q := berth.Query{Index: 1, PK: pkMonth(month), Prefix: prefix, Limit: maxCandidates}
		if err := s.walk(ctx, q, func(item berth.Item) (bool, error) {
			found = append(found, item.Index1.SK)
			return len(found) < maxCandidates, nil
		}); err != nil {
			return "", err
		}
	}
	id, err := unique("run", prefix, found)
	return berth.RunID(id), err
}

const maxCandidates = 10

func unique(noun, prefix string, found []string) (string, error) {
	switch len(found) {
	case 0:
		return "", berth.Errorf(berth.CodeNotFound, "no %s has an id that begins with %s", noun, prefix)
	case 1:
		return found[0], nil
	}
	return "", berth.Errorf(berth.CodeConflict, "several %ss have an id that begins with %s: %s", noun, prefix, strings.Join(found, ", "))
}

func summaryOf(item berth.Item) (berth.RunSummary, error) {
	var p projection
	if err := json.Unmarshal([]byte(item.Projected), &p); err != nil {
		return berth.RunSummary{}, fmt.Errorf("index entry of run %s: %w", item.Index1.SK, err)
	}
	created, err := idTime(item.Index1.SK)
	return berth.RunSummary{
		ID: berth.RunID(item.Index1.SK), Status: p.Status, Environment: p.Environment, Command: p.Summary,
		CreatedAt: created, EndedAt: p.EndedAt,
	}, err
}

func idTime(id string) (time.Time, error) {
	u, err := ulid.ParseStrict(strings.ToUpper(id))
	if err != nil {
		return time.Time{}, berth.Errorf(berth.CodeMalformed, "not a ULID")
	}
	return ulid.Time(u.Time()).UTC(), nil
}

// prefixTimes is the span of creation times that ids with this prefix can have.
func prefixTimes(prefix string) (first, last time.Time, err error) {
	const length = 26
	if first, err = idTime(prefix + strings.Repeat("0", length-len(prefix))); err != nil {
		return first, last, err
	}
	last, err = idTime(prefix + strings.Repeat("z", length-len(prefix)))
	return first, last, err
}

func monthStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
