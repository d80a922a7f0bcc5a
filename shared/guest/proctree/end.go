//go:build linux

package proctree

import (
	"context"
	"os"
	"syscall"
	"time"
)

const (
	sysPidfdSendSignal = 424 // on amd64 and arm64
	sysPidfdOpen       = 434
)

// Signal sends to exactly this process, never to another that got its number.
// It reports whether the process was there.
func (p Process) Signal(signal syscall.Signal) bool {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(p.PID), 0, 0)
	if errno == syscall.ENOSYS {
		return p.Alive() && syscall.Kill(p.PID, signal) == nil
	}
	if errno != 0 {
		return false
	}
	defer syscall.Close(int(fd))
	if !p.Alive() {
		return false
	}
	_, _, errno = syscall.RawSyscall6(sysPidfdSendSignal, fd, uintptr(signal), 0, 0, 0, 0)
	return errno == 0
}

// Alive reports whether this very process still runs.
func (p Process) Alive() bool {
	now, ok := Read(p.PID)
	return ok && now.StartTime == p.StartTime
}

// Ending says how to end processes.
type Ending struct {
	// Find lists who is left.
	Find func(all []Process) []Process
	// Grace is the time between TERM and KILL; without one KILL comes at once.
	Grace time.Duration
	// Limit bounds the whole: a process in an uninterruptible wait does not end.
	Limit time.Duration
	// Again is how many looks must find nobody after one that did. A single look
	// misses what is being started meanwhile, and who finds processes by arguments
	// or environment misses one that becomes another program just then.
	Again int
}

// End ends all processes that Find lists, and repeats until it lists none: a
// process may start others while it is being ended. It reports whether none is
// left; ctx ends the wait early.
func End(ctx context.Context, e Ending) bool {
	now := time.Now()
	kill, limit := now.Add(e.Grace), now.Add(e.Grace+e.Limit)
	told, quiet := map[Process]bool{}, 0
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		all, err := All()
		if err != nil {
			return false
		}
		left := e.Find(all)
		if len(left) > 0 {
			quiet = 0
		} else if quiet++; quiet > e.Again {
			return true
		}
		now := time.Now()
		if ctx.Err() != nil || now.After(limit) {
			return len(left) == 0
		}
		for _, p := range left {
			switch {
			case !now.Before(kill):
				p.Signal(syscall.SIGKILL)
			case !told[Process{PID: p.PID, StartTime: p.StartTime}]:
				told[Process{PID: p.PID, StartTime: p.StartTime}] = true
				p.Signal(syscall.SIGTERM)
				p.Signal(syscall.SIGCONT) // a stopped process takes TERM only then
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// Self is the calling process.
func Self() Process {
	p, _ := Read(os.Getpid())
	return p
}
