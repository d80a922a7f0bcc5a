// Package tabletest is the contract of the berth.Table port: one suite that
// every adapter passes, and a table with late indexes for the tests of those
// who use the port.
package tabletest

import (
	"context"
	"sync"
	"time"
)

// Clock is a clock that tests set forward.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// NewClock begins at the present whole second. Expiries then lie in the real
// future, so that an emulator's own time to live, which looks at the real
// clock, does not come before the adapter's.
func NewClock() *Clock { return &Clock{now: time.Now().UTC().Truncate(time.Second)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set makes it t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance sets the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep sets the clock forward by d and lets others run for a moment.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
