package docker

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnanswered ends a connection whose other side does not confirm what is sent:
// the kernel would send it again for a quarter of an hour.
func limitUnanswered(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// A kernel without it has the longer limit.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
}
