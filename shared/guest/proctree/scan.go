//go:build linux

package proctree

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Process is what /proc/PID/stat says of a process that lives. PID and StartTime
// together name it for good; a number alone is used again.
type Process struct {
	PID       int
	Parent    int
	Session   int
	StartTime uint64 // clock ticks since the machine started
}

// Read looks up one process. ok is false when it is gone, only waits to be
// reaped, or is a thread of the kernel.
func Read(pid int) (p Process, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	// The name, field 2, is in parentheses and may hold any byte.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return p, false
	}
	fields := bytes.Fields(b[i+1:]) // from field 3 on
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return p, false
	}
	const kernelThread = 0x00200000
	if flags, err := strconv.ParseUint(string(fields[6]), 10, 64); err != nil || flags&kernelThread != 0 {
		return p, false
	}
	p.PID = pid
	p.Parent, _ = strconv.Atoi(string(fields[1]))
	p.Session, _ = strconv.Atoi(string(fields[3]))
	p.StartTime, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err == nil
}

// All lists every process that lives.
func All() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := Read(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// Below picks the descendants of root, without it.
func Below(all []Process, root int) []Process {
	children := map[int][]Process{}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var below []Process
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; {
		pid := next[0]
		next = next[1:]
		for _, p := range children[pid] {
			if !seen[p.PID] {
				seen[p.PID] = true
				below = append(below, p)
				next = append(next, p.PID)
			}
		}
	}
	return below
}

// Now is the time as StartTime counts it.
func Now() (uint64, error) {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	seconds, _, _ := strings.Cut(string(b), " ")
	up, err := strconv.ParseFloat(seconds, 64)
	const ticksPerSecond = 100 // what the kernel tells programs, whatever it uses itself
	return uint64(up * ticksPerSecond), err
}
