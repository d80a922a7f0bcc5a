//go:build linux

package guest

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// reaper is the only one that waits for children. Forking, reaping and sending
// signals to a child happen under one lock, so that a number always means the
// process that was meant.
type reaper struct {
	mu      sync.Mutex // guards all below
	waiting map[int]func(syscall.WaitStatus)
}

func newReaper() *reaper {
	return &reaper{waiting: map[int]func(syscall.WaitStatus){}}
}

// run reaps when a child has ended, orphans too. Signals of one kind are merged,
// so all that have ended are reaped each time; the tick is for a lost one.
func (r *reaper) run(child <-chan os.Signal) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		r.reap()
		select {
		case <-child:
		case <-tick.C:
		}
	}
}

func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended := r.waiting[pid]; ended != nil {
			delete(r.waiting, pid)
			ended(status)
		}
	}
}

// start forks. ended is called under the reaper's lock and must not wait.
func (r *reaper) start(fork func() (int, error), ended func(syscall.WaitStatus)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return err
	}
	r.waiting[pid] = ended
	return nil
}

// signalGroup sends to the process group of a child that has not been reaped.
func (r *reaper) signalGroup(pid int, signal syscall.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[pid] != nil && syscall.Kill(-pid, signal) == nil
}
