package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// endLimit bounds the clean-up after a failure.
const endLimit = 5 * time.Second

// forwardSignals passes INT, TERM and HUP on to the command. A second one of a kind
// leaves: the command may not care about signals. The channel closes at the end.
func (x execution) forwardSignals(ctx context.Context, signals <-chan os.Signal, leave context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[os.Signal]bool{}
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				if seen[s] {
					leave(errLeft)
					return
				}
				seen[s] = true
				x.forward(ctx, s)
			}
		}
	}()
	return done
}

func (x execution) forward(ctx context.Context, s os.Signal) {
	name := signalName(s)
	err := x.client.SignalCommand(ctx, x.sandbox, x.command, name)
	if code := berth.CodeOf(err); err != nil && code != berth.CodeConflict && code != berth.CodeNotFound && ctx.Err() == nil {
		x.app.note("signal %s could not be passed on: %s", name, err)
	}
}

func signalName(s os.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "TERM"
	case syscall.SIGHUP:
		return "HUP"
	}
	return "INT"
}
