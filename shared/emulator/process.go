package emulator

import (
	"os/exec"
	"runtime"
	"time"
)

// process is a running program and all that it starts.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // why, once done is closed
}

// startProcess starts cmd in a process group of its own. Unless it is detached
// it does not outlive this process, where the system can see to that.
func startProcess(cmd *exec.Cmd, detached bool) (*process, error) {
	if err := isolate(cmd, detached); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux ends the child with the thread that made it, so that thread has to
		// stay for as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the group to end, then ends it, and waits.
func (p *process) stop(patience time.Duration) {
	if p.ended() {
		return
	}
	signalGroup(p.cmd.Process.Pid, false)
	select {
	case <-p.done:
	case <-time.After(patience):
	}
	signalGroup(p.cmd.Process.Pid, true)
	<-p.done
}
