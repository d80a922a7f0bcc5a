//go:build linux

package spritestest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

const (
	frozen = syscall.SIGSTOP
	thawed = syscall.SIGCONT
)

// markVariable is in the environment of every process of a sprite.
const markVariable = "SPRITE_MARK"

const endLimit = 20 * time.Second

// processes finds those of the sprite.
func (s *Sprite) processes(all []proctree.Process) (found []proctree.Process) {
	for _, p := range all {
		if p.PID != os.Getpid() && s.has(p.PID) {
			found = append(found, p)
		}
	}
	return found
}

func (s *Sprite) has(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	environ, _ := os.ReadFile(dir + "/environ")
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if string(entry) == markVariable+"="+s.Mark {
			return true
		}
	}
	args, _ := os.ReadFile(dir + "/cmdline")
	return bytes.Contains(args, []byte(s.Root+"/"))
}

// signal sends to all processes.
func (s *Sprite) signal(sig syscall.Signal) {
	all, _ := proctree.All() // without them nobody is frozen, and the test sees it
	for _, p := range s.processes(all) {
		p.Signal(sig)
	}
}

// kill ends all processes.
func (s *Sprite) kill() {
	proctree.End(context.Background(), proctree.Ending{Find: s.processes, Limit: endLimit, Again: 6})
}
