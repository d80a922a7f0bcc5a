//go:build linux

package proctree

import (
	"os"
	"strconv"
	"syscall"
)

// CloseOnExec keeps all descriptors of this process but the first three from
// what it starts. Those that Go opens are kept back anyway; others may have been
// inherited.
func CloseOnExec() error {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
