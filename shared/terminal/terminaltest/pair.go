//go:build linux

// Package terminaltest opens terminals for tests.
package terminaltest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Open makes a pseudo-terminal: what a person sees and types is at user, and the
// program's end, a terminal, is program. Both are closed at the end of the test;
// a machine without pseudo-terminals skips it.
func Open(t *testing.T) (user, program *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	user = os.NewFile(uintptr(fd), "/dev/ptmx") // not blocking, so that deadlines work
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatalf("unlocking the terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatalf("finding the terminal: %v", err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("opening the terminal: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}
