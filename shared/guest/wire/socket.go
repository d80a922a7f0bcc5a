//go:build linux

package wire

import (
	"fmt"
	"net"
	"os"
)

// SocketName is the socket's name in the folder that agent and guest share.
const SocketName = "s"

// The address goes through the folder's descriptor: a socket's path has room
// for 107 bytes only, and data folders may lie deeper.
func socketAddr(dir *os.File) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketName)}
}

// Listen binds the socket in dir. A socket that an agent before left is replaced.
// A shared one is open to every user who gets into the folder.
func Listen(dir *os.File, shared bool) (*net.UnixListener, error) {
	addr := socketAddr(dir)
	if err := os.Remove(addr.Name); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("replacing a socket: %w", err)
	}
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for a guest: %w", err)
	}
	// The name is the next agent's by the time that this one closes.
	l.SetUnlinkOnClose(false)
	if shared {
		if err := os.Chmod(addr.Name, 0o666); err != nil {
			l.Close()
			return nil, fmt.Errorf("opening a socket to a guest: %w", err)
		}
	}
	return l, nil
}

// Dial connects to the socket in dir.
func Dial(dir *os.File) (*Conn, error) {
	unix, err := DialUnix(dir)
	if err != nil {
		return nil, err
	}
	return NewConn(unix), nil
}

// DialUnix is Dial for who brings a protocol of his own.
func DialUnix(dir *os.File) (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, socketAddr(dir))
}
