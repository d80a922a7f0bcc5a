//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// InBackground reports whether v is a terminal that another job of the shell has
// at hand: reading from it would stop this process.
func InBackground(v any) bool {
	if !Is(v) {
		return false
	}
	group, err := unix.IoctlGetInt(int(v.(*os.File).Fd()), unix.TIOCGPGRP)
	return err != nil || group != unix.Getpgrp()
}
