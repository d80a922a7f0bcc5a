//go:build linux

package guest

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/spool"
)

const (
	// quietTime without a byte is the end of output when the first process has
	// ended and another still holds a pipe; drainLimit bounds that wait.
	quietTime  = 200 * time.Millisecond
	drainLimit = 5 * time.Second
)

// pump reads both pipes until their ends: also after the exit is recorded, so
// that a process in the background neither blocks nor dies of a broken pipe.
func (c *command) pump(stdout, stderr spool.Type, looks *looks) {
	var both sync.WaitGroup
	for i, t := range []spool.Type{stdout, stderr} {
		pipe := c.pipes[i]
		both.Go(func() {
			defer pipe.Close()
			buf := make([]byte, spool.MaxPayload)
			for {
				n, err := pipe.Read(buf)
				if n > 0 {
					c.heard.Store(time.Now().UnixNano())
					if c.record.write(t, buf[:n]) {
						looks.add(c.id)
					}
				}
				if err != nil {
					return
				}
			}
		})
	}
	go func() {
		both.Wait()
		close(c.quiet)
	}()
}

// reaped is called by the reaper.
func (c *command) reaped(status syscall.WaitStatus) {
	c.mu.Lock()
	c.status, c.ended = status, true
	c.mu.Unlock()
	close(c.exited)
}

// follow waits for the end of c and records it.
func (g *Guest) follow(c *command) {
	<-c.exited
	if c.input != nil {
		c.input.close()
	}
	c.mu.Lock()
	ending, status := c.ending, c.status
	c.mu.Unlock()
	if ending != nil {
		<-ending.over
	}
	c.drain()
	exit := ownMemory().outOfMemory(exitOf(status), c.kills)
	if ending != nil {
		exit.Reason, exit.Message = ending.reason, ending.message
	}
	g.finish(c, exit)
}

// finish records the exit, after which the spool alone speaks for the command.
func (g *Guest) finish(c *command, exit berth.Exit) {
	c.record.close(exit, g.quit)
	g.remove(c)
	close(c.done)
	g.looks.add(c.id)
}

// drain waits until no more output is to be expected.
func (c *command) drain() {
	ended := time.Now()
	for {
		heard := time.Unix(0, c.heard.Load())
		if heard.Before(ended) {
			heard = ended
		}
		wait := min(time.Until(heard.Add(quietTime)), time.Until(ended.Add(drainLimit)))
		if wait <= 0 && (time.Since(ended) >= drainLimit || c.pipesEmpty()) {
			return
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-c.quiet:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// pipesEmpty tells a quiet pipe from a reader that got no turn.
func (c *command) pipesEmpty() bool {
	return unread(c.pipes[0]) == 0 && unread(c.pipes[1]) == 0
}

func unread(pipe *os.File) (n int32) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		const fionread = 0x541b
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&n)))
	})
	return n
}

// exitOf says what the shell would say.
func exitOf(status syscall.WaitStatus) berth.Exit {
	if status.Signaled() {
		return berth.Exit{Code: 128 + int(status.Signal()), Signal: wire.SignalName(status.Signal()), Reason: berth.ExitSignalled}
	}
	return berth.Exit{Code: status.ExitStatus(), Reason: berth.ExitExited}
}
