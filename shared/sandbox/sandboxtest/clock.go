package sandboxtest

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// HastyClock is ahead by all that was slept: who waits for what never comes gives up
// after so many looks, however long one takes. Its zero value begins now.
type HastyClock struct {
	mu sync.Mutex // guards what follows
	// Ahead is by how much; set it before use alone.
	Ahead time.Duration
}

var _ berth.Clock = (*HastyClock)(nil)

// Now is the time with what was slept.
func (c *HastyClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UTC().Add(c.Ahead)
}

// Sleep takes a millisecond at most.
func (c *HastyClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.Ahead += d
	c.mu.Unlock()
	return berth.SystemClock{}.Sleep(ctx, min(d, time.Millisecond))
}
