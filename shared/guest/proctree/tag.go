//go:build linux

package proctree

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// A Tag marks a process and all that it starts. A process can leave its parent
// and its session behind, and its environment is the user's alone, but it
// inherits its limits. The limit on file locks has had no effect since Linux
// 2.4.25, so its soft value is free to carry the tag.
type Tag uint64

// TagRange is how many tags belong to one sandbox: its own and one for each
// command that lives at the same time.
const TagRange = 1 << 16

const rlimitLocks = 10

// NewTag makes the first tag of a sandbox's range.
func NewTag() Tag {
	// Bit 61 keeps it apart from every limit that somebody sets on purpose.
	return Tag(1<<61 | rand.Uint64()>>4&^(TagRange-1))
}

// Covers reports whether t belongs to the range that begins at base.
func (base Tag) Covers(t Tag) bool { return t >= base && t < base+TagRange }

// SetTag tags the calling process; what it starts from now on has it too.
func SetTag(t Tag) error {
	var limit [2]uint64
	if err := prlimit(nil, &limit); err != nil {
		return err
	}
	limit[0] = uint64(t)
	return prlimit(&limit, nil)
}

func prlimit(set, was *[2]uint64) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, rlimitLocks, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// TagOf reads the tag of a process; 0 when it has none.
func TagOf(pid int) Tag {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(b, []byte("Max file locks"))
	if !found {
		return 0
	}
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err != nil {
		return 0 // unlimited
	}
	return Tag(n)
}

// Tagged picks the processes whose tag is in the range of base. Those that were
// started before since, in clock ticks, cannot have it.
func Tagged(all []Process, base Tag, since uint64) []Process {
	var tagged []Process
	for _, p := range all {
		if p.StartTime >= since && base.Covers(TagOf(p.PID)) {
			tagged = append(tagged, p)
		}
	}
	return tagged
}
