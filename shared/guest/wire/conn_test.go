//go:build linux

package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pair is two ends of a connection in a folder whose path is too long for a
// socket's address.
func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.Repeat("deep/", 50))
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var l *net.UnixListener
	for range 2 { // the second replaces the first one's socket
		if l, err = Listen(dir, false); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if a, err = Dial(dir); err != nil {
		t.Fatal(err)
	}
	unix, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	b = NewConn(unix)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestMessagesArriveWholeWithTheirFiles(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const count = 200
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			f, err := os.Create(filepath.Join(t.TempDir(), fmt.Sprint(i)))
			if err != nil {
				sent <- err
				return
			}
			fmt.Fprint(f, "file ", i)
			m := Message{Header: Header{ID: uint64(i), Op: OpStart}, Body: bytes.Repeat([]byte{byte(i)}, i*i*20)}
			if i%3 == 0 {
				m.Files = []*os.File{f}
			}
			if i%9 == 0 {
				m.Files = append(m.Files, f)
			}
			err = a.Send(m)
			f.Close()
			if err != nil {
				sent <- err
				return
			}
		}
		a.Close()
		sent <- nil
	}()
	for i := range count {
		m, err := b.Receive()
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if m.ID != uint64(i) || !bytes.Equal(m.Body, bytes.Repeat([]byte{byte(i)}, i*i*20)) {
			t.Fatalf("message %d came as %d with %d bytes", i, m.ID, len(m.Body))
		}
		want := map[bool]int{true: 1}[i%3 == 0] + map[bool]int{true: 1}[i%9 == 0]
		if len(m.Files) != want {
			t.Fatalf("message %d came with %d files, want %d", i, len(m.Files), want)
		}
		for _, f := range m.Files {
			got := make([]byte, 20)
			n, _ := f.ReadAt(got, 0)
			if string(got[:n]) != fmt.Sprint("file ", i) {
				t.Errorf("message %d came with %q", i, got[:n])
			}
			f.Close()
		}
	}
	if _, err := b.Receive(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestNonsenseEndsAConnectionAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"too long":           "\xff\xff\xff\xff\x00\x00\x00\x02{}",
		"header too long":    "\x00\x00\x00\x02\x00\x00\x00\x03{}",
		"no JSON":            "\x00\x00\x00\x02\x00\x00\x00\x02{{",
		"files that are not": "\x00\x00\x00\x0b\x00\x00\x00\x0b{\"files\":3}",
		"negative files":     "\x00\x00\x00\x0c\x00\x00\x00\x0c{\"files\":-1}",
		"cut":                "\x00\x00\x00\x0b\x00\x00\x00\x0b{\"fi",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			if _, err := a.unix.Write([]byte(raw)); err != nil {
				t.Fatal(err)
			}
			a.Close()
			if m, err := b.Receive(); err == nil || err == io.EOF {
				t.Errorf("Receive = %+v, %v", m, err)
			}
		})
	}
}

func TestAMessageOverTheCapIsNotSent(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := a.Send(Message{Body: make([]byte, MaxMessage)}); err == nil {
		t.Error("it was sent")
	}
	if err := a.Send(Message{Header: Header{ID: 7}}); err != nil {
		t.Fatal(err)
	}
	if m, err := b.Receive(); err != nil || m.ID != 7 {
		t.Errorf("the next message: %+v, %v", m, err)
	}
}

func TestThePeerIsKnown(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	if pid, err := a.PeerPID(); err != nil || pid != os.Getpid() {
		t.Errorf("PeerPID = %d, %v", pid, err)
	}
}
