//go:build linux

package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// probeLimit is the time that a guest has to connect and bash to answer.
const probeLimit = 30 * time.Second

// run starts the container, or finds it running, and waits for bash; life is
// held. reason is set when the sandbox is at fault.
func (b *box) run(ctx context.Context) (reason *berth.Reason, err error) {
	b.mu.Lock()
	guest := b.guest
	b.mu.Unlock()
	if guest != nil && !guest.Alive() { // and its end is being recorded
		b.waitFor(ctx, guest.ended, askLimit+time.Second)
		guest = nil
	}
	if guest == nil {
		if reason, err := b.startGuest(ctx); reason != nil || err != nil {
			return reason, err
		}
	}
	said, err := b.probe(ctx)
	if berth.CodeOf(err) == berth.CodeInvalid {
		return b.badImage(err), nil
	}
	if err != nil {
		if reason := b.endedEarly(); reason != nil {
			return reason, nil
		}
		return nil, berth.Wrap(err, "waiting for the sandbox's guest")
	}
	return nil, b.record(func(m *meta) { m.Status, m.Reason, m.UID, m.GID = berth.SandboxReady, nil, said.UID, said.GID })
}

// startGuest gives the sandbox a new start.
func (b *box) startGuest(ctx context.Context) (*berth.Reason, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	start := hex.EncodeToString(random[:])
	if b.present().attached() {
		return b.startAttached(ctx, start)
	}
	if err := b.record(func(m *meta) { m.SandboxStart, m.Boot, m.PID, m.StartTime = start, b.provider.boot, 0, 0 }); err != nil {
		return nil, err
	}
	if err := b.agent.Listen(start); err != nil {
		return nil, err
	}
	name := b.container()
	whole, cancel := b.provider.untilClosed() // see createContainer
	defer cancel()
	err := b.provider.engine.call(whole, "starting the container", func(ctx context.Context) error {
		_, err := b.provider.engine.api.ContainerStart(ctx, name, client.ContainerStartOptions{})
		return err
	})
	var found container.InspectResponse
	if err == nil {
		found, err = b.inspect(ctx)
	}
	if err != nil {
		b.agent.End()
		return nil, err
	}
	process, alive := proctree.Process{}, false
	if found.State != nil && found.State.Pid > 0 {
		process, alive = proctree.Read(found.State.Pid)
	}
	if !alive {
		b.agent.End()
		return b.notStarted(found), nil
	}
	engine, _ := b.provider.engine.process()
	err = b.record(func(m *meta) {
		m.PID, m.StartTime, m.Engine, m.Volumes = process.PID, process.StartTime, processName(engine), volumesOf(found)
	})
	if err != nil {
		b.agent.End()
		return nil, err
	}
	b.agent.Expect(process.PID)
	b.watch(process)
	return nil, nil
}

// volumesOf are the container's anonymous volumes: nobody else has a name for them.
func volumesOf(found container.InspectResponse) []string {
	var names []string
	for _, m := range found.Mounts {
		if m.Type == mount.TypeVolume && m.Name != "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// notStarted says why there is no process after a start.
func (b *box) notStarted(found container.InspectResponse) *berth.Reason {
	if found.State != nil && found.State.Running {
		return &berth.Reason{
			Code: berth.ReasonProvisionFailed, Message: "the container's first process is not one of this machine",
			Remediation: "The sandbox was made on an engine of this machine, and another one answers now. Make a new sandbox.",
		}
	}
	reason := endReason(found)
	if reason.Code == berth.ReasonOutOfMemory {
		reason.Message += ", as soon as it was started"
	} else {
		reason.Code, reason.Remediation = berth.ReasonProvisionFailed, ""
	}
	return reason
}

// endedEarly is the reason of a guest that ended while it was waited for.
func (b *box) endedEarly() *berth.Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guest != nil {
		return nil
	}
	e := b.meta.endOf(b.meta.SandboxStart)
	if e == nil {
		return nil
	}
	code := berth.ReasonProvisionFailed
	if e.Reason == berth.ExitOutOfMemory {
		code = berth.ReasonOutOfMemory
	}
	return &berth.Reason{Code: code, Message: e.Text}
}

// badImage is the reason for an image that no sandbox can be made from.
func (b *box) badImage(err error) *berth.Reason {
	reason := reasonOf(err)
	if reason.Remediation == "" {
		reason.Code = berth.ReasonBashMissing
		reason.Message = "the image has no working bash: " + reason.Message
		reason.Remediation = "Use an image with /bin/bash, or add it (Debian, Ubuntu: apt-get install bash; Alpine: apk add bash)."
	}
	return reason
}

// probe waits for bash, and makes sure that what is mounted is what was allowed.
func (b *box) probe(ctx context.Context) (wire.Probed, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	binds := b.present().Binds
	var targets []string
	for _, m := range binds {
		targets = append(targets, m.Target)
	}
	said, err := b.probeGuest(ctx, targets)
	if err != nil || len(binds) == 0 {
		return said, err
	}
	if len(said.Mounts) != len(binds) {
		return said, berth.Errorf(berth.CodeUnavailable, "the guest does not say what is mounted")
	}
	for i, m := range binds {
		info, err := os.Lstat(m.Source)
		if err != nil {
			return said, berth.Errorf(berth.CodeForbidden, "what was to be mounted from %s is gone", m.Source)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || said.Mounts[i] != (wire.FileID{Device: stat.Dev, Inode: stat.Ino}) {
			return said, b.otherMount(m)
		}
	}
	return said, nil
}

// otherMount is the error for a mount that is not what was checked.
func (b *box) otherMount(m bind) error {
	if b.present().attached() {
		return &berth.Error{
			Code: berth.CodeForbidden, Message: fmt.Sprintf("what is mounted at %s is not this machine's %s", m.Target, m.Source),
			Remediation: "docker.extra_mounts needs an engine that sees the server's own directories; run berth-agent on the engine's machine.",
		}
	}
	return berth.Errorf(berth.CodeForbidden, "what is mounted at %s is not %s: a link was put in its place", m.Target, m.Source)
}

// probeGuest asks the guest, wherever its agent is.
func (b *box) probeGuest(ctx context.Context, targets []string) (wire.Probed, error) {
	if b.present().attached() {
		return b.provider.far.Probe(ctx, berth.SandboxRef{ID: b.id}, targets)
	}
	return b.agent.ProbeMounts(ctx, targets)
}

// waitFor reports whether done was closed in time, and before the provider was.
func (b *box) waitFor(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-b.provider.closed:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
