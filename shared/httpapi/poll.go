package httpapi

import (
	"context"
	"time"
)

// poll calls read until it has something, wait has passed or the server closes.
// It registers its interest before each read, so that no change falls between
// the read and the wait. The last answer of read is the result.
func poll[T any](ctx context.Context, a *API, topic string, wait time.Duration, read func(ctx context.Context) (v T, ready bool, err error)) (T, error) {
	if wait <= 0 {
		v, _, err := read(ctx)
		return v, err
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(a.closing, cancel)()
	for {
		v, ready, err := readWatched(ctx, waiting, a, topic, read)
		if err != nil || ready || waiting.Err() != nil {
			return v, err
		}
	}
}

func readWatched[T any](ctx, waiting context.Context, a *API, topic string, read func(ctx context.Context) (T, bool, error)) (T, bool, error) {
	watch := a.cfg.Waiter.Watch(topic)
	defer watch.Close()
	v, ready, err := read(ctx)
	if err != nil || ready || waiting.Err() != nil {
		return v, ready, err
	}
	watch.Wait(waiting)
	if waiting.Err() != nil && ctx.Err() == nil {
		// The last look, for what came as the time ran out.
		return read(ctx)
	}
	return v, false, ctx.Err()
}
