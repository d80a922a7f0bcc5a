package stream

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Poll is the waiter where nothing can wake a reader, as between Lambdas: each
// Wait of a watch lasts longer than the one before, up to a second.
type Poll struct{ Clock berth.Clock }

var _ berth.Waiter = Poll{}

const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = time.Second
)

// Watch registers nothing; it only starts the back-off.
func (p Poll) Watch(string) berth.Watch { return &pollWatch{clock: p.Clock, next: firstPoll} }

type pollWatch struct {
	clock berth.Clock
	next  time.Duration
}

// Wait returns after the next pause, or at the end of ctx.
func (w *pollWatch) Wait(ctx context.Context) {
	// The reader looks again either way, so an interrupted sleep needs no word.
	_ = w.clock.Sleep(ctx, w.next)
	w.next = min(2*w.next, lastPoll)
}

func (w *pollWatch) Close() {}
