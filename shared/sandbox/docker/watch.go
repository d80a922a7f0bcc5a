//go:build linux

package docker

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// guestProcess is a guest that was seen alive.
type guestProcess struct {
	Alive func() bool
	ended chan struct{} // closed when it is gone and that is recorded
}

// watch waits for the end of the guest. It is the machine's process and not the
// engine that tells: an engine may be stopped while its containers go on.
func (b *box) watch(process proctree.Process) {
	guest := &guestProcess{process.Alive, make(chan struct{})}
	b.mu.Lock()
	b.guest = guest
	b.mu.Unlock()
	b.provider.work.Go(func() {
		if !waitGone(b.provider.closed, process) {
			return
		}
		b.died()
		close(guest.ended)
	})
}

// aliveCheck is how often a process is looked at where the kernel cannot tell.
const aliveCheck = 200 * time.Millisecond

// waitGone reports false when the provider was closed first.
func waitGone(closed <-chan struct{}, process proctree.Process) bool {
	exited := make(chan struct{})
	if file := openPidfd(process); file != nil {
		defer file.Close() // ends the wait
		go func() {
			if conn, err := file.SyscallConn(); err == nil {
				_ = conn.Read(func(uintptr) bool { return !process.Alive() })
			}
			close(exited)
		}()
	} else {
		close(exited)
	}
	tick := time.NewTicker(aliveCheck)
	defer tick.Stop()
	for process.Alive() {
		select {
		case <-exited:
			exited = nil // from here on the clock alone decides
		case <-tick.C:
		case <-closed:
			return false
		}
	}
	return true
}

// openPidfd returns a file that is readable once the process has ended; nil
// where there is none.
func openPidfd(process proctree.Process) *os.File {
	fd, err := unix.PidfdOpen(process.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "pidfd")
}

// died records how the guest ended, and ends what waits for it.
func (b *box) died() {
	b.mu.Lock()
	busy, fault, m := b.busy, b.fault, b.meta
	b.mu.Unlock()
	if !busy {
		reason := b.findReason(fault)
		if b.provider.isClosed() { // the next server asks again
			return
		}
		b.logger().Warn("a sandbox has ended by itself", "reason", reason.Message)
		b.recordEnd(m, reason)
	}
	b.mu.Lock()
	b.guest = nil
	agent, attached := b.agent, b.meta.attached()
	b.mu.Unlock()
	agent.End()
	if attached {
		b.provider.far.Forget(b.id)
	}
}

// recordEnd keeps how the start of m ended.
func (b *box) recordEnd(m meta, reason *berth.Reason) {
	how := berth.ExitLost
	if reason.Code == berth.ReasonOutOfMemory {
		how = berth.ExitOutOfMemory
	}
	err := b.record(func(now *meta) {
		*now = now.ended(ending{m.SandboxStart, how, reason.Message})
		if now.Status == berth.SandboxReady {
			now.Status, now.Reason = berth.SandboxFailed, reason
		}
	})
	if err != nil {
		b.logger().Error("the end of a sandbox is not recorded", "error", err)
	}
}

// lostExit is the exit of commands that were cut off by the end of a start.
func (b *box) lostExit(start string) *berth.Exit {
	e := b.present().endOf(start)
	if e == nil {
		return nil
	}
	exit := e.exit()
	return &exit
}

// exit is that of commands that the end has cut off.
func (e ending) exit() berth.Exit {
	code := -1
	if e.Reason == berth.ExitOutOfMemory {
		code = killed
	}
	return berth.Exit{Code: code, Reason: e.Reason, Message: e.Text}
}

// engineStopped is the reason while the engine cannot say more.
var engineStopped = &berth.Reason{
	Code: berth.ReasonLost, Message: "the Docker engine was stopped or restarted, and the sandbox's container ended with it", Remediation: toStartAgain,
}

// askLimit is how long the engine may take to say why a container has ended.
const askLimit = 3 * time.Second

// findReason asks the engine why the container has ended.
func (b *box) findReason(fault string) *berth.Reason {
	lost := func(format string, args ...any) *berth.Reason {
		return &berth.Reason{Code: berth.ReasonLost, Message: fmt.Sprintf(format, args...), Remediation: toStartAgain}
	}
	if fault != "" {
		return lost("%s", fault)
	}
	whole, end := b.provider.untilClosed()
	defer end()
	ctx, cancel := context.WithTimeout(whole, askLimit)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		found, err := b.inspect(ctx)
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound:
			return &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox's container was removed from outside", Remediation: "Make a new sandbox; commands that ran in it are lost."}
		case err != nil && ctx.Err() == nil:
			return engineStopped
		case err != nil:
			return lost("the sandbox's container has ended, and the Docker engine does not say why")
		case found.State != nil && !found.State.Running:
			if b.endedWithEngine(found.State) {
				return engineStopped
			}
			return endReason(found)
		case found.State != nil && found.State.Pid > 0 && !b.sameStart(found.State):
			return lost("the sandbox's container was started anew from outside")
		}
		// The engine learns of the end a little later than this process.
		if b.provider.config.Clock.Sleep(ctx, pause) != nil {
			return lost("the sandbox's container has ended")
		}
	}
}

// sameStart reports whether a container that runs does so since the start that is
// recorded.
func (b *box) sameStart(s *container.State) bool {
	m := b.present()
	if m.attached() {
		return s.StartedAt == m.StartedAt
	}
	return s.Pid == m.PID
}

// endedWithEngine reports whether a container ended because its engine did.
func (b *box) endedWithEngine(s *container.State) bool {
	if s.OOMKilled {
		return false
	}
	b.mu.Lock()
	attached, away := b.meta.attached(), b.away
	b.mu.Unlock()
	if attached { // the engine's process may be anywhere
		return away || !b.provider.engine.accepts()
	}
	finished, err := time.Parse(time.RFC3339Nano, s.FinishedAt)
	return err == nil && b.provider.engine.took(b.present().Engine, finished)
}

const (
	// killed is the status of a process that ended by KILL.
	killed = 137
	// unknown is the status that the engine gives a container of whose end it has not
	// heard: after a stop that killed it, it may write that over the real one. No guest
	// ends with it.
	unknown = 255
)

// endReason puts the engine's record of an end into words.
func endReason(found container.InspectResponse) *berth.Reason {
	s := found.State
	if s.OOMKilled {
		limit := ""
		if found.HostConfig != nil && found.HostConfig.Memory > 0 {
			limit = fmt.Sprintf(" of %d MiB", found.HostConfig.Memory>>20)
		}
		return &berth.Reason{
			Code: berth.ReasonOutOfMemory, Message: "the sandbox's container was killed at its memory limit" + limit,
			Remediation: "Raise resources.memory of the environment, or use less memory.",
		}
	}
	message := fmt.Sprintf("the sandbox's container has ended with status %d", s.ExitCode)
	switch s.ExitCode {
	case killed:
		message = "the sandbox's container was killed from outside"
	case unknown:
		message = "the sandbox's container was killed from outside, or its end was lost: the engine does not know its status"
	case wire.OversizeStatus:
		message = "the output of a command was past its cap, so the sandbox was ended"
	}
	if s.Error != "" {
		message += ": " + s.Error
	}
	return &berth.Reason{Code: berth.ReasonLost, Message: message, Remediation: toStartAgain}
}

// oversize is called when a spool grows without bound.
func (b *box) oversize(id berth.CommandID) {
	text := fmt.Sprintf("the output of command %s is past its cap, so the sandbox was ended", id)
	b.logger().Error(text)
	b.mu.Lock()
	b.fault = text
	b.mu.Unlock()
	b.provider.work.Go(func() {
		ctx, cancel := b.provider.untilClosed()
		defer cancel()
		if err := b.kill(ctx); err != nil {
			b.logger().Error("a sandbox whose output is past its cap is not ended", "error", err)
		}
	})
}

// kill ends all processes of the container. One that has ended is no error.
func (b *box) kill(ctx context.Context) error {
	name := b.container()
	err := b.provider.engine.call(ctx, "killing container "+name, func(ctx context.Context) error {
		_, err := b.provider.engine.api.ContainerKill(ctx, name, client.ContainerKillOptions{Signal: "KILL"})
		return err
	})
	if code := berth.CodeOf(err); code == berth.CodeNotFound || code == berth.CodeConflict {
		return nil
	}
	return err
}
