//go:build linux

package guest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// identity is the user that commands run as, when the guest itself is root: what
// an engine's own exec would give.
type identity struct {
	uid, gid int
	groups   []int // supplementary groups, the first of them gid
	home     string
}

// credential is what a command is started with; nil when it is what the guest
// has itself.
func (i *identity) credential() *syscall.Credential {
	if i == nil {
		return nil
	}
	own, err := syscall.Getgroups()
	if err == nil && os.Getuid() == i.uid && os.Getgid() == i.gid && slices.Equal(own, i.groups) {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(i.uid), Gid: uint32(i.gid)}
	for _, g := range i.groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

// do calls f with the user's rights on files: what f may read, write and enter is
// what the user may, and what it makes is the user's. A nil identity is the
// guest itself.
func (i *identity) do(f func() error) error {
	if i == nil || i.uid == 0 && i.gid == 0 {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked: it ends with this goroutine, and no other
		// gets to run with its rights.
		runtime.LockOSThread()
		if err := i.become(); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// become changes the file system's user of this thread alone. The kernel takes
// the capabilities that go beyond files' permissions from it as well.
func (i *identity) become() error {
	groups := make([]uint32, 0, len(i.groups)+1) // room, so that there is a first
	for _, g := range i.groups {
		groups = append(groups, uint32(g))
	}
	first := unsafe.Pointer(unsafe.SliceData(groups))
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return fmt.Errorf("taking the groups of the image's user: %w", errno)
	}
	for _, change := range []struct {
		call uintptr
		id   int
	}{{syscall.SYS_SETFSGID, i.gid}, {syscall.SYS_SETFSUID, i.uid}} {
		// The call tells the id before, never an error: ask again to see.
		_, _, _ = syscall.RawSyscall(change.call, uintptr(change.id), 0, 0)
		if now, _, _ := syscall.RawSyscall(change.call, uintptr(change.id), 0, 0); int(uint32(now)) != change.id {
			return fmt.Errorf("taking the rights of the image's user %d: %w", change.id, syscall.EPERM)
		}
	}
	return hideMemory() // a change of user may have undone it
}

// hideMemory keeps the guest's memory, where secrets are, and its descriptors
// from every process without the right to trace any.
func hideMemory() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
