//go:build linux

package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	maxFiles     = 4
	writeTimeout = 30 * time.Second
)

// Conn sends and receives messages. Send may be called at the same time by
// many, Receive by one.
type Conn struct {
	unix *net.UnixConn

	buf   []byte // received, not used
	files []*os.File

	mu  sync.Mutex // guards writing and out
	out []byte
}

// NewConn takes over unix.
func NewConn(unix *net.UnixConn) *Conn { return &Conn{unix: unix} }

// Send writes m, whose files stay the caller's. A peer that does not read for
// half a minute counts as gone.
func (c *Conn) Send(m Message) error {
	m.Header.Files = len(m.Files)
	var rights []byte
	if len(m.Files) > 0 {
		fds := make([]int, len(m.Files))
		for i, f := range m.Files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.out, err = appendMessage(c.out[:0], m); err != nil {
		return err
	}
	if err := c.unix.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	rest := c.out
	if rights != nil {
		// The descriptors travel with the first byte.
		n, _, err := c.unix.WriteMsgUnix(rest, rights, nil)
		if err != nil {
			return c.broken(err)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		if _, err := c.unix.Write(rest); err != nil {
			return c.broken(err)
		}
	}
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	return nil
}

// broken closes the connection, as the peer may have got a part of a message.
func (c *Conn) broken(err error) error {
	c.unix.Close()
	return err
}

// Receive waits for the next message. It returns io.EOF when the peer is gone
// between messages.
func (c *Conn) Receive() (Message, error) {
	var m Message
	if err := c.fill(prefixBytes); err != nil {
		return m, err
	}
	total, header := binary.BigEndian.Uint32(c.buf), binary.BigEndian.Uint32(c.buf[4:])
	if total > MaxMessage || header > total {
		return m, fmt.Errorf("message of %d bytes with a header of %d", total, header)
	}
	if err := c.fill(prefixBytes + int(total)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return m, err
	}
	message := c.buf[prefixBytes : prefixBytes+int(total)]
	if err := json.Unmarshal(message[:header], &m.Header); err != nil {
		return m, fmt.Errorf("decoding a message: %w", err)
	}
	if m.Header.Files < 0 || m.Header.Files > len(c.files) {
		return m, fmt.Errorf("message promises %d files and %d came", m.Header.Files, len(c.files))
	}
	m.Files, c.files = c.files[:m.Header.Files:m.Header.Files], c.files[m.Header.Files:]
	m.Body = append([]byte(nil), message[header:]...)
	rest := c.buf[prefixBytes+int(total):]
	if cap(c.buf) > keptBuffer {
		c.buf = append([]byte(nil), rest...)
	} else {
		c.buf = c.buf[:copy(c.buf, rest)]
	}
	return m, nil
}

// fill reads until n bytes are in the buffer. It reads with ReadMsgUnix only: a
// plain read drops descriptors.
func (c *Conn) fill(n int) error {
	for len(c.buf) < n {
		if free := max(n-len(c.buf), 4096); cap(c.buf)-len(c.buf) < free {
			grown := make([]byte, len(c.buf), len(c.buf)+free)
			copy(grown, c.buf)
			c.buf = grown
		}
		rights := make([]byte, syscall.CmsgSpace(4*maxFiles))
		got, gotRights, _, _, err := c.unix.ReadMsgUnix(c.buf[len(c.buf):cap(c.buf)], rights)
		if gotRights > 0 {
			if err := c.keepFiles(rights[:gotRights]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err == nil && got == 0 {
			return io.EOF
		}
		if err != nil {
			return err
		}
		c.buf = c.buf[:len(c.buf)+got]
	}
	return nil
}

func (c *Conn) keepFiles(rights []byte) error {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return fmt.Errorf("reading descriptors: %w", err)
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return fmt.Errorf("reading descriptors: %w", err)
		}
		for _, fd := range fds {
			c.files = append(c.files, os.NewFile(uintptr(fd), "received"))
		}
	}
	if len(c.files) > maxFiles {
		return fmt.Errorf("%d descriptors came at once", len(c.files))
	}
	return nil
}

// Close ends the connection and with it a Receive that waits.
func (c *Conn) Close() error { return c.unix.Close() }

// Discard closes descriptors that no message claimed; only after the last Receive.
func (c *Conn) Discard() {
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}

// PeerPID is the process at the other end when it connected, by the kernel's word.
func (c *Conn) PeerPID() (int, error) { return PeerPID(c.unix) }

// PeerPID is the process at the other end of a socket when it connected.
func PeerPID(unix *net.UnixConn) (int, error) {
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Pid), nil
}
