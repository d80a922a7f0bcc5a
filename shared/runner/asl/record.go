package asl

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	pkExecution = "exec"
	// keptEnded is how long an execution can be asked for after its end.
	keptEnded = 7 * 24 * time.Hour
)

// record is an execution in the table.
type record struct {
	Status berth.ExecutionStatus `json:"status"`
	// State is the one that the execution is in, Data its input; at the end Data
	// is the output.
	State     string          `json:"state,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	WaitUntil time.Time       `json:"wait_until,omitzero"`
	Error     string          `json:"error,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	StartedAt time.Time       `json:"started_at"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
}

func (r *record) end(status berth.ExecutionStatus, now time.Time) {
	r.Status, r.EndedAt, r.WaitUntil = status, now, time.Time{}
	if status != berth.ExecutionSucceeded {
		r.Data = nil
	}
}

// execution is a record with its version in the table, and how to stop its driver.
type execution struct {
	id      berth.ExecutionID
	record  record
	version int64

	cancel context.CancelCauseFunc
	done   chan struct{}
}

// put writes the record if nobody else has; the version goes up with it.
func (i *Interpreter) put(ctx context.Context, x *execution) error {
	body, err := json.Marshal(x.record)
	if err != nil {
		return fmt.Errorf("encoding execution %s: %w", x.id, err)
	}
	item := berth.Item{PK: pkExecution, SK: string(x.id), Version: x.version, Body: body}
	if !x.record.EndedAt.IsZero() {
		item.Expires = x.record.EndedAt.Add(keptEnded)
	}
	version, err := i.config.Table.Put(ctx, item)
	if err == nil {
		x.version = version
	}
	return err
}

func (i *Interpreter) findRecord(ctx context.Context, id berth.ExecutionID) (*execution, error) {
	item, err := i.config.Table.Get(ctx, pkExecution, string(id))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, berth.Wrap(err, "reading execution "+string(id))
	}
	return recorded(item)
}

func recorded(item berth.Item) (*execution, error) {
	x := &execution{id: berth.ExecutionID(item.SK), version: item.Version}
	if err := json.Unmarshal(item.Body, &x.record); err != nil {
		return nil, fmt.Errorf("decoding execution %s: %w", x.id, err)
	}
	return x, nil
}

func (i *Interpreter) eachRecord(ctx context.Context, visit func(*execution) error) error {
	q := berth.Query{PK: pkExecution, Limit: berth.MaxQueryLimit}
	for {
		page, err := i.config.Table.Query(ctx, q)
		if err != nil {
			return berth.Wrap(err, "listing executions")
		}
		for _, item := range page.Items {
			x, err := recorded(item)
			if err != nil {
				return err
			}
			if err := visit(x); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}
