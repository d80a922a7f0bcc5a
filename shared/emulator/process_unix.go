//go:build unix

package emulator

import "syscall"

// signalGroup asks the process group of pid to end, or kills it. A group that
// has ended already is fine.
func signalGroup(pid int, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, signal)
}
