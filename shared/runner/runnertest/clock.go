// Package runnertest has what tests of runs need: clocks that hurry or stand
// still, a table that dies, and a provider in memory with real spools.
package runnertest

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// HurriedClock lets time pass a number of times faster than it does.
type HurriedClock struct {
	origin time.Time
	factor int
}

var _ berth.Clock = HurriedClock{}

// NewHurriedClock starts at the present time.
func NewHurriedClock(factor int) HurriedClock { return HurriedClock{time.Now(), factor} }

// Now returns the hurried time.
func (c HurriedClock) Now() time.Time {
	return c.origin.Add(time.Since(c.origin) * time.Duration(c.factor)).UTC()
}

// Sleep waits for d of hurried time, or until ctx ends.
func (c HurriedClock) Sleep(ctx context.Context, d time.Duration) error {
	return berth.SystemClock{}.Sleep(ctx, d/time.Duration(c.factor))
}

// ManualClock moves only when it is told to.
type ManualClock struct {
	mu      sync.Mutex // guards now and moved
	now     time.Time
	moved   chan struct{} // closed at the next move
	sleeper chan struct{}
}

var _ berth.Clock = (*ManualClock)(nil)

// NewManualClock stands at noon of a day.
func NewManualClock() *ManualClock {
	return &ManualClock{
		now:   time.Date(2030, time.May, 5, 12, 0, 0, 0, time.UTC),
		moved: make(chan struct{}), sleeper: make(chan struct{}, 1000),
	}
}

// Now returns the time that the clock stands at.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and wakes who has slept long enough.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	close(c.moved)
	c.moved = make(chan struct{})
}

// Sleeper receives once for every call of Sleep, so that a test knows when to Advance.
func (c *ManualClock) Sleeper() <-chan struct{} { return c.sleeper }

// Sleep returns when the clock was moved by d, or ctx ends.
func (c *ManualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	until := c.now.Add(d)
	c.mu.Unlock()
	select {
	case c.sleeper <- struct{}{}:
	default:
	}
	for {
		c.mu.Lock()
		now, moved := c.now, c.moved
		c.mu.Unlock()
		if !now.Before(until) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
