//go:build linux

package guest

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

const probeLimit = 10 * time.Second

// probe makes the workspace ready and runs bash once: a sandbox is ready only
// when it has answered.
func (g *Guest) probe() {
	defer close(g.probed)
	if g.probeErr = g.prepareErr; g.probeErr == nil {
		g.probeErr = g.tryBash()
	}
}

// tryBash is also about the user: it starts bash as a command would be.
func (g *Guest) tryBash() error {
	ended := make(chan syscall.WaitStatus, 1)
	err := g.reaper.start(func() (int, error) {
		return syscall.ForkExec(g.config.Bash, []string{"bash", "--noprofile", "--norc", "-c", "exit 42"}, &syscall.ProcAttr{
			Env: environ(g.environ, nil, "/"), Dir: "/", Sys: &syscall.SysProcAttr{Setsid: true, Credential: g.user.credential()},
		})
	}, func(status syscall.WaitStatus) { ended <- status })
	if err != nil {
		return berth.Errorf(berth.CodeInvalid, "%s could not be started: %s", g.config.Bash, err.Error())
	}
	select {
	case status := <-ended:
		if status.ExitStatus() != 42 {
			return berth.Errorf(berth.CodeInvalid, "%s does not answer as bash does", g.config.Bash)
		}
	case <-time.After(probeLimit):
		return berth.Errorf(berth.CodeInvalid, "%s did not answer within %s", g.config.Bash, probeLimit)
	}
	return nil
}

// answerProbe waits for the probe and says what the agent cannot see.
func (g *Guest) answerProbe(ctx context.Context, p wire.Probe) (wire.Probed, error) {
	select {
	case <-g.probed:
	case <-ctx.Done():
		return wire.Probed{}, ctx.Err()
	}
	if g.probeErr != nil {
		return wire.Probed{}, g.probeErr
	}
	said := wire.Probed{UID: os.Getuid(), GID: os.Getgid()}
	if g.user != nil {
		said.UID, said.GID = g.user.uid, g.user.gid
	}
	for _, path := range p.Mounts {
		var stat syscall.Stat_t
		if err := syscall.Stat(string(path), &stat); err != nil {
			return said, berth.Errorf(berth.CodeUnavailable, "the mount at %s cannot be looked at: %s", path, err.Error())
		}
		said.Mounts = append(said.Mounts, wire.FileID{Device: stat.Dev, Inode: stat.Ino})
	}
	return said, nil
}
