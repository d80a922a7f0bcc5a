package berth

import (
	"context"
	"time"
)

// Clock is the source of time; tests pass their own.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx ends, and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// IDs makes new ids: lower-case ULIDs that sort by time of creation.
type IDs interface {
	NewID() string
}

// SystemClock is the machine's clock, in UTC.
type SystemClock struct{}

// Now returns the present time in UTC.
func (SystemClock) Now() time.Time { return time.Now().UTC() }

// Sleep waits for d or the end of ctx.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
