//go:build linux

package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// capacity looks at this machine.
func (d folder) capacity() (agentapi.Capacity, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return agentapi.Capacity{}, fmt.Errorf("reading the host's memory: %w", err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(string(d), &disk); err != nil {
		return agentapi.Capacity{}, fmt.Errorf("reading the host's free disk: %w", err)
	}
	return agentapi.Capacity{
		CPUs:          runtime.NumCPU(),
		MemoryBytes:   int64(uint64(info.Totalram) * uint64(info.Unit)),
		FreeDiskBytes: int64(disk.Bavail) * disk.Bsize,
	}, nil
}
