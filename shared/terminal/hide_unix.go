//go:build unix

package terminal

import "golang.org/x/sys/unix"

// hide lets the terminal show nothing of what is typed, and work on lines and keys as
// it does.
func hide(fd int) error {
	state, err := unix.IoctlGetTermios(fd, readState)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, writeState, state)
}
