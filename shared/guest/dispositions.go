//go:build linux

package guest

import (
	"syscall"
	"unsafe"
)

// libcSignals are those that C libraries keep for themselves. os/signal leaves
// them alone, and a parent that used glibc's posix_spawn, such as make, hands
// them down ignored; commands would inherit that.
var libcSignals = []uintptr{32, 33, 34}

// restoreLibcSignals gives them their default effect.
func restoreLibcSignals() error {
	const setBytes = 8 // of the kernel's signal set
	// All zero is SIG_DFL, whatever the architecture's order of fields.
	var action [4]uint64
	for _, sig := range libcSignals {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, setBytes, 0, 0)
		if errno != 0 {
			return errno
		}
	}
	return nil
}
