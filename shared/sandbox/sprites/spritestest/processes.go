//go:build linux

package spritestest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	killed = syscall.SIGKILL
	frozen = syscall.SIGSTOP
	thawed = syscall.SIGCONT
)

// markVariable is in the environment of every process of a sprite.
const markVariable = "SPRITE_MARK"

// PIDs are the living processes of the sprite.
func (s *Sprite) PIDs() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid != os.Getpid() && s.has(dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (s *Sprite) has(dir string) bool {
	env, _ := os.ReadFile(dir + "/environ")
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == markVariable+"="+s.Mark {
			return !dead(dir)
		}
	}
	args, _ := os.ReadFile(dir + "/cmdline")
	return bytes.Contains(args, []byte(s.Root+"/")) && !dead(dir)
}

// dead reports whether a process is a zombie.
func dead(dir string) bool {
	stat, err := os.ReadFile(dir + "/stat")
	i := bytes.LastIndexByte(stat, ')')
	return err != nil || i < 0 || len(stat) < i+3 || stat[i+2] == 'Z'
}

// signal sends to all processes, and returns how many there were.
func (s *Sprite) signal(sig syscall.Signal) int {
	pids := s.PIDs()
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
	return len(pids)
}
