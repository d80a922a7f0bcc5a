package embedded

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// idleWatch knows when a server was last of use: a request in progress or a
// live run keeps it up.
type idleWatch struct {
	clock berth.Clock
	limit time.Duration
	// busy reports work that is not a request, such as live runs.
	busy func(ctx context.Context) (bool, error)

	mu       sync.Mutex // guards what follows
	requests int
	last     time.Time
}

func newIdleWatch(clock berth.Clock, limit time.Duration, busy func(context.Context) (bool, error)) *idleWatch {
	return &idleWatch{clock: clock, limit: limit, busy: busy, last: clock.Now()}
}

// count notes the requests that pass through it. A health check is no use of
// the server: whoever polls it would keep it up for ever.
func (w *idleWatch) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != healthPath {
			w.add(1)
			defer w.add(-1)
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *idleWatch) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests += n
	w.last = w.clock.Now()
}

// left is how long the server may still be without work; zero is "end now".
func (w *idleWatch) left(ctx context.Context) (time.Duration, error) {
	busy, err := w.busy(ctx)
	if err != nil {
		return w.limit, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if busy || w.requests > 0 {
		w.last = w.clock.Now()
	}
	return max(0, w.limit-w.clock.Now().Sub(w.last)), nil
}

// wait returns when the server has been idle for the limit, or ctx has ended.
func (w *idleWatch) wait(ctx context.Context) error {
	for {
		left, err := w.left(ctx)
		if err != nil {
			// Not knowing is not being idle: look again later.
			left = w.limit
		}
		if left == 0 {
			return nil
		}
		if err := w.clock.Sleep(ctx, left); err != nil {
			return err
		}
	}
}
