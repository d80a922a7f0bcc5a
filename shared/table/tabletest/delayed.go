package tabletest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Delayed is a table whose indexes lag behind by a fixed time, as DynamoDB's
// may. It shows who reads an index to decide something.
type Delayed struct {
	berth.Table
	clock berth.Clock
	delay time.Duration

	mu      sync.Mutex // guards what follows, and keeps the replica's order that of the table
	replica berth.Table
	then    *Clock // the replica's time
	pending []pendingWrites
}

type pendingWrites struct {
	at     time.Time
	writes []berth.Write
}

// NewDelayed wraps table. Queries of indexes are answered from a second, empty
// table that replica makes, to which writes come delay later.
func NewDelayed(table berth.Table, replica func(berth.Clock) berth.Table, clock berth.Clock, delay time.Duration) *Delayed {
	then := &Clock{now: clock.Now()}
	return &Delayed{Table: table, clock: clock, delay: delay, replica: replica(then), then: then}
}

// Put is that of berth.Table.
func (d *Delayed) Put(ctx context.Context, item berth.Item) (int64, error) {
	if err := d.Transact(ctx, []berth.Write{{Item: item}}); err != nil {
		return 0, err
	}
	return item.Version + 1, nil
}

// Delete is that of berth.Table.
func (d *Delayed) Delete(ctx context.Context, pk, sk string, version int64) error {
	item := berth.Item{PK: pk, SK: sk, Version: version}
	return d.Transact(ctx, []berth.Write{{Item: item, Delete: true}})
}

// Transact is that of berth.Table.
func (d *Delayed) Transact(ctx context.Context, writes []berth.Write) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.clock.Now()
	if err := d.Table.Transact(ctx, writes); err != nil {
		return err
	}
	d.pending = append(d.pending, pendingWrites{at, append([]berth.Write(nil), writes...)})
	return nil
}

// Query is that of berth.Table; an index shows what was there delay ago.
func (d *Delayed) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	if q.Index == 0 {
		return d.Table.Query(ctx, q)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	for len(d.pending) > 0 && !d.pending[0].at.Add(d.delay).After(now) {
		// At the time of the write, so that the same items count as expired.
		d.then.Set(d.pending[0].at)
		if err := d.replica.Transact(ctx, d.pending[0].writes); err != nil {
			return berth.Page{}, fmt.Errorf("bringing an index up to date: %w", err)
		}
		d.pending = d.pending[1:]
	}
	d.then.Set(now)
	return d.replica.Query(ctx, q)
}
