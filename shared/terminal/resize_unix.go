//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Resizes delivers something whenever the terminal's size may be another, until
// stop.
func Resizes() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
