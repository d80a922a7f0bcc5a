//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// keepBrokenPipes makes a write to a pipe that nobody reads an error instead of
// this program's death, so that what it follows can be ended first.
func keepBrokenPipes() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
