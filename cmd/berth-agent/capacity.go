//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/berth"
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
	total := int64(uint64(info.Totalram) * uint64(info.Unit))
	c := limitsIn("/sys/fs/cgroup").bound(runtime.NumCPU(), total)
	c.FreeDiskBytes = int64(disk.Bavail) * disk.Bsize
	return c, nil
}

// hostCapacity is capacity in the form in which servers are told.
func (d folder) hostCapacity() (berth.HostCapacity, error) {
	c, err := d.capacity()
	return berth.HostCapacity{CPU: c.CPUs, MemoryBytes: c.MemoryBytes, DiskBytes: c.FreeDiskBytes, Architecture: runtime.GOARCH}, err
}

// limits are those of the control group at the top of what this machine sees. A real
// machine has none; a container that is a host has, and so have the sandboxes in
// it. The agent's own group says nothing: sandboxes are not in it.
type limits struct {
	memoryBytes int64   // 0 is none
	cpus        float64 // 0 is none
}

func limitsIn(root string) limits {
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n <= 0 { // max, -1, or not there
			return 0
		}
		return n
	}
	var l limits
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		if n := number(read(name)); n > 0 && n < 1<<62 { // version 1 says none with a number near 2^63
			l.memoryBytes = int64(n)
		}
	}
	quota, period, _ := strings.Cut(read("cpu.max"), " ")
	if quota == "" {
		quota, period = read("cpu/cpu.cfs_quota_us"), read("cpu/cpu.cfs_period_us")
	}
	if q, p := number(quota), number(period); q > 0 && p > 0 {
		l.cpus = q / p
	}
	return l
}

// bound takes what is less: what the machine has or the limit, and one core at least.
func (l limits) bound(cpus int, memoryBytes int64) agentapi.Capacity {
	if l.cpus > 0 {
		cpus = max(1, min(cpus, int(l.cpus)))
	}
	if l.memoryBytes > 0 {
		memoryBytes = min(memoryBytes, l.memoryBytes)
	}
	return agentapi.Capacity{CPUs: cpus, MemoryBytes: memoryBytes}
}
