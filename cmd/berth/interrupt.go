package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// untilSignal returns a context that the first signal ends, so that what a command
// has begun on this machine is taken away; the second ends the program at once.
func (a *app) untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	signals, stop := a.signals()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer stop()
		select {
		case <-signals:
			end(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil); <-ended }
}

// canceller turns the first signal that ends programs into the cancelling of a run and the
// second into leaving it.
type canceller struct {
	client *client.Client
	view   *terminal.View
	leave  context.CancelCauseFunc
	stop   func()
	ended  chan struct{}
	calls  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	run    berth.RunID
	wanted bool
}

func (a *app) cancelOnSignal(ctx context.Context, c *client.Client, view *terminal.View, leave context.CancelCauseFunc) *canceller {
	signals, stop := a.signals()
	k := &canceller{client: c, view: view, leave: leave, stop: stop, ended: make(chan struct{})}
	go k.watch(ctx, signals)
	return k
}

func (k *canceller) watch(ctx context.Context, signals <-chan os.Signal) {
	defer close(k.ended)
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		if !first {
			k.leave(errLeft)
			return
		}
		k.view.Say("berth: cancelling the run; Ctrl-C again leaves it")
		k.mu.Lock()
		k.wanted = true
		run := k.run
		k.mu.Unlock()
		if run != "" {
			k.calls.Go(func() { k.cancel(ctx, run) })
		}
	}
}

// asked reports whether the run's end was asked for.
func (k *canceller) asked() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wanted
}

// know says which run it is; it is cancelled at once if that was asked for.
func (k *canceller) know(ctx context.Context, run berth.RunID) {
	k.mu.Lock()
	k.run = run
	wanted := k.wanted
	k.mu.Unlock()
	if wanted {
		k.calls.Go(func() { k.cancel(ctx, run) })
	}
}

func (k *canceller) cancel(ctx context.Context, run berth.RunID) {
	err := k.client.CancelRun(ctx, run)
	if err != nil && berth.CodeOf(err) != berth.CodeConflict && ctx.Err() == nil { // conflict: it has ended
		k.view.Say("berth: the run could not be cancelled: " + terminal.Clean(err.Error()))
	}
}

// close ends the watch and waits for what it began.
func (k *canceller) close() {
	k.leave(nil)
	<-k.ended
	k.calls.Wait()
	k.stop()
}
