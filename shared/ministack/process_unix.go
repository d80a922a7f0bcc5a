//go:build unix

package ministack

import (
	"os/exec"
	"syscall"
)

// signalGroup asks the group of cmd to end, or kills it. A group that has ended
// already is fine.
func signalGroup(cmd *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}
