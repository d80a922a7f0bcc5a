//go:build unix && !linux

package terminal

import "golang.org/x/sys/unix"

const (
	readState  = unix.TIOCGETA
	writeState = unix.TIOCSETA
)
