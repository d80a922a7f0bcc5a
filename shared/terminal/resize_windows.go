package terminal

import (
	"os"
	"time"
)

// sizeLook is how often the size is looked at: consoles send no signal.
const sizeLook = 500 * time.Millisecond

// Resizes delivers something whenever the terminal's size may be another, until
// stop.
func Resizes() (resized <-chan os.Signal, stop func()) {
	c, over := make(chan os.Signal), make(chan struct{})
	go func() {
		tick := time.NewTicker(sizeLook)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			select {
			case <-over:
				return
			case c <- os.Interrupt: // which signal it is says nothing
			}
		}
	}()
	return c, func() { close(over) }
}
