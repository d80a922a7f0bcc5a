//go:build !linux

package shell

import "syscall"

// endsWithServer is for Linux, where servers with this client run.
func endsWithServer() *syscall.SysProcAttr { return nil }
