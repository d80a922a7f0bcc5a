//go:build unix

package embedded

import (
	"io/fs"
	"os/exec"
	"syscall"
)

func readableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// detach makes cmd outlive this process and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
