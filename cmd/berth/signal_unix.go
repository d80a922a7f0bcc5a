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

// endSignals are what ends a program from outside: Ctrl-C, a polite kill, and
// the end of the terminal.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
