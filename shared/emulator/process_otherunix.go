//go:build unix && !linux

package emulator

import (
	"os/exec"
	"syscall"
)

func isolate(cmd *exec.Cmd, detached bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: detached, Setpgid: !detached}
	return nil
}
