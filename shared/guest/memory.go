//go:build linux

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// memory is the guest's control group as far as its limit goes.
type memory struct {
	counter string // file with the line "oom_kill N"; empty when there is none
	limit   string // file with the limit in bytes
}

const cgroupRoot = "/sys/fs/cgroup"

// memoryOf finds the control group that self, the text of /proc/self/cgroup,
// names: in version 2, or in version 1. In a container the folder may be mounted
// as the root without the path saying so.
func memoryOf(self, root string) memory {
	for line := range strings.Lines(self) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, counter, limit := root, "memory.events", "memory.max"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			base, counter, limit = filepath.Join(root, "memory"), "memory.oom_control", "memory.limit_in_bytes"
		default:
			continue
		}
		for _, dir := range []string{filepath.Join(base, parts[2]), base} {
			if _, err := os.Stat(filepath.Join(dir, counter)); err == nil {
				return memory{filepath.Join(dir, counter), filepath.Join(dir, limit)}
			}
		}
	}
	return memory{}
}

// ownMemory looks anew each time: a process can be moved.
func ownMemory() memory {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return memory{}
	}
	return memoryOf(string(self), cgroupRoot)
}

// kills is how many processes the kernel has killed for want of memory.
func (m memory) kills() int64 {
	b, err := os.ReadFile(m.counter)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			n, _ := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			return n
		}
	}
	return 0
}

// describe names the limit.
func (m memory) describe() string {
	b, err := os.ReadFile(m.limit)
	n, parseErr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	const unlimited = 1 << 50 // version 1 writes a very large number
	if err != nil || parseErr != nil || n >= unlimited {
		return "the machine's memory was used up"
	}
	return fmt.Sprintf("the memory limit of %d MiB was reached", n>>20)
}

// outOfMemory makes exit say so when the command was killed and the kernel has
// killed for want of memory since the command began.
func (m memory) outOfMemory(exit berth.Exit, before int64) berth.Exit {
	killed := exit.Signal == "KILL" || exit.Code == 128+int(syscall.SIGKILL)
	if killed && m.kills() > before {
		exit.Reason, exit.Message = berth.ExitOutOfMemory, m.describe()
	}
	return exit
}
