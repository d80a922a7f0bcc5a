//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
