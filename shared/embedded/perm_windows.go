//go:build windows

package embedded

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// readableByOthers is false: on Windows the mode bits do not tell, and the data
// folder inherits the access list of the user's profile.
func readableByOthers(fs.FileInfo) bool { return false }

const detachedProcess = 0x00000008 // DETACHED_PROCESS of CreateProcess

// detach makes cmd outlive this process and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess} }
