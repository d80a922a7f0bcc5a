//go:build linux

// Hostile is what a workload with bad intentions does from inside a sandbox. Each
// argument is one attempt; it prints what succeeded, a line each.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/berth-dev/berth/shared/guest/wire"
)

const (
	folder  = "/run/berth"
	patient = 2 * time.Second // how long an agent is tried, and listened to
)

func main() {
	for _, arg := range os.Args[1:] {
		switch arg {
		case "connect":
			connect()
		case "memory":
			memory()
		case "folder":
			writeFolder()
		case "signals":
			signals()
		default:
			fmt.Fprintln(os.Stderr, "no such attempt:", arg)
			os.Exit(2)
		}
	}
}

func succeeded(format string, args ...any) { fmt.Printf("succeeded: "+format+"\n", args...) }

// connect introduces itself as the guest, in every way and again and again, and
// waits for the agent to ask for something.
func connect() {
	dir, err := os.Open(folder)
	if err != nil {
		fmt.Println("no folder:", err)
		return
	}
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); {
		for _, hello := range []string{
			`{"version":1,"pid":1,"sandbox_start":""}`, `{"version":1,"pid":1}`, `{"version":1,"pid":1,"sandbox_start":"0"}`,
		} {
			conn, err := wire.Dial(dir)
			if err != nil {
				continue // the agent is away
			}
			pretend(conn, hello)
		}
	}
	fmt.Println("tried")
}

func pretend(conn *wire.Conn, hello string) {
	defer conn.Close()
	_ = conn.Send(wire.Message{Header: wire.Header{Op: wire.OpHello, Params: []byte(hello)}})
	// An exit and a notice that nobody asked for.
	_ = conn.Send(wire.Message{Header: wire.Header{ID: 1, Op: wire.OpReply, Params: []byte(`{}`)}})
	_ = conn.Send(wire.Message{Header: wire.Header{Op: wire.OpLook, Params: []byte(`{"id":"victim"}`)}})
	got := make(chan wire.Message, 1)
	go func() {
		if m, err := conn.Receive(); err == nil {
			got <- m
		}
		close(got)
	}()
	select {
	case m, ok := <-got:
		if ok {
			succeeded("the agent asked for %s", m.Op)
		}
	case <-time.After(patient):
		succeeded("the agent keeps the connection open")
	}
}

// memory reaches for the guest's memory and descriptors.
func memory() {
	for _, path := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/task/1/mem"} {
		for _, mode := range []int{os.O_RDONLY, os.O_RDWR} {
			f, err := os.OpenFile(path, mode, 0)
			if err != nil {
				continue
			}
			b := make([]byte, 16)
			if _, err := f.ReadAt(b, 0x400000); err == nil {
				succeeded("read from %s", path)
			}
			if _, err := f.WriteAt(b, 0x400000); err == nil {
				succeeded("write to %s", path)
			}
			f.Close()
		}
	}
	for fd := range 64 {
		path := "/proc/1/fd/" + strconv.Itoa(fd)
		if target, err := os.Readlink(path); err == nil {
			succeeded("%s leads to %s", path, target)
		}
		if f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			succeeded("open %s", path)
			f.Close()
		}
	}
	runtime.LockOSThread()
	if err := syscall.PtraceAttach(1); err == nil {
		succeeded("trace process 1")
	}
	const pidfdOpen, pidfdGetfd = 434, 438
	if pidfd, _, errno := syscall.RawSyscall(pidfdOpen, 1, 0, 0); errno == 0 {
		for fd := range uintptr(64) {
			if _, _, errno := syscall.RawSyscall(pidfdGetfd, pidfd, fd, 0); errno == 0 {
				succeeded("take descriptor %d of process 1", fd)
			}
		}
	}
	var word uint64
	local := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&word)), Len: 8}
	remote := [2]uintptr{0x400000, 8}
	for name, call := range map[string]uintptr{"read": sysVMRead, "write": sysVMWrite} {
		n, _, errno := syscall.RawSyscall6(call, 1, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
		if errno == 0 && n > 0 {
			succeeded("%s the memory of process 1", name)
		}
	}
}

// writeFolder tries to make the agent meet something else than its socket.
func writeFolder() {
	socket := folder + "/" + wire.SocketName
	for name, try := range map[string]func() error{
		"make a file":         func() error { return os.WriteFile(folder+"/file", nil, 0o644) },
		"make a link":         func() error { return os.Symlink("/etc/passwd", folder+"/link") },
		"make a pipe":         func() error { return syscall.Mkfifo(folder+"/pipe", 0o666) },
		"make a device":       func() error { return syscall.Mknod(folder+"/device", syscall.S_IFCHR|0o666, 1<<8|3) },
		"make a folder":       func() error { return os.Mkdir(folder+"/folder", 0o755) },
		"remove the socket":   func() error { return os.Remove(socket) },
		"move the socket":     func() error { return os.Rename(socket, folder+"/moved") },
		"change its mode":     func() error { return os.Chmod(socket, 0) },
		"change its owner":    func() error { return os.Chown(socket, 7, 7) },
		"link over it":        func() error { return os.Link(socket, folder+"/second") },
		"change the folder":   func() error { return os.Chmod(folder, 0o777) },
		"mount it writable":   func() error { return syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_BIND, "") },
		"mount over it":       func() error { return syscall.Mount("tmpfs", folder, "tmpfs", 0, "") },
		"take the mount away": func() error { return syscall.Unmount(folder, syscall.MNT_DETACH) },
		"write the guest":     func() error { return os.WriteFile(folder+"-guest", []byte("x"), 0o755) },
	} {
		if try() == nil {
			succeeded("%s", name)
		}
	}
}

// signals sends process 1 all that there are.
func signals() {
	sent := 0
	for n := syscall.Signal(1); n <= 64; n++ {
		if syscall.Kill(1, n) == nil {
			sent++
		}
	}
	fmt.Println("signals:", sent)
}
