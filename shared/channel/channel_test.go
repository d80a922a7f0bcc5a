package channel

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestFramesArriveHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	var sent bytes.Buffer
	w := NewWriter(&sent)
	data := bytes.Repeat([]byte("0\x00\xffd"), MaxPayload/2+1) // two frames and a bit
	exit := berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled}
	if n, err := w.Write(data); n != len(data) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	for _, err := range []error{w.Resize(berth.Window{Columns: 300, Rows: 65535}), w.Tell(), w.End(), w.send('?', []byte("of a later version")), w.Exit(exit)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(sent.Bytes()), "byte by byte": iotest.OneByteReader(bytes.NewReader(sent.Bytes()))} {
		var got []byte
		var kinds string
		for in := NewReader(r); ; {
			f, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kinds += string(rune(f.Kind))
			if f.Kind == Data {
				got = append(got, f.Payload...)
			}
			if w, ok := f.Window(); ok != (f.Kind == Window) || ok && w != (berth.Window{Columns: 300, Rows: 65535}) {
				t.Errorf("%s: frame %c tells the size %+v, %v", name, f.Kind, w, ok)
			}
			if e, ok := f.Exit(); ok != (f.Kind == Exit) || ok && !cmp.Equal(e, exit) {
				t.Errorf("%s: frame %c tells the exit %+v, %v", name, f.Kind, e, ok)
			}
		}
		if !bytes.Equal(got, data) || kinds != "dddwde?x" {
			t.Errorf("%s: %d of %d bytes came, in %s", name, len(got), len(data), kinds)
		}
	}
}

func TestNonsenseIsNoFrame(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"too long": "d\x00\x00\x80\x01", "much too long": "d\xff\xff\xff\xff", "cut": "d\x00\x00\x00\x03ab", "cut before its bytes": "d\x00\x00\x00\x03", "cut in its length": "d\x00",
	} {
		if f, err := NewReader(strings.NewReader(raw)).Next(); err == nil || err == io.EOF {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if _, ok := (Frame{Window, []byte("abc")}).Window(); ok {
		t.Error("three bytes are a size")
	}
	if _, ok := (Frame{Exit, []byte("{")}).Exit(); ok {
		t.Error("half an object is an exit")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("d\x00\x00\x00\x01ax\x00\x00\x00\x02{}"))
	f.Add([]byte("w\x00\x00\x00\x04\x00\x50\x00\x18e\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		left := len(raw)
		for in := NewReader(bytes.NewReader(raw)); ; {
			frame, err := in.Next()
			if err != nil {
				return
			}
			if left -= headerBytes + len(frame.Payload); left < 0 {
				t.Fatal("more came than there was")
			}
			frame.Window()
			frame.Exit()
		}
	})
}

// connected are both ends of a TCP connection.
func connected(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); other.Close() })
	return conn.(*net.TCPConn), other.(*net.TCPConn)
}

// through is a client and a server with two joins and a stream between them.
func through(t *testing.T) (client, server *net.TCPConn, joined <-chan struct{}) {
	t.Helper()
	client, clientEnd := connected(t)
	server, serverEnd := connected(t)
	near, far := net.Pipe()
	done := make(chan struct{}, 2)
	go func() { Join(clientEnd, near); done <- struct{}{} }()
	go func() { Join(serverEnd, far); done <- struct{}{} }()
	return client, server, done
}

func over(t *testing.T, joined <-chan struct{}) {
	t.Helper()
	for range 2 {
		select {
		case <-joined:
		case <-time.After(30 * time.Second):
			t.Fatal("a join goes on")
		}
	}
}

func TestEitherDirectionEndsByItself(t *testing.T) {
	t.Parallel()
	client, server, joined := through(t)
	question := bytes.Repeat([]byte("question"), 50_000)
	go func() {
		_, _ = client.Write(question) // what arrives tells
		client.CloseWrite()
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, question) {
		t.Fatalf("%d bytes came, %v", len(got), err)
	}
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	server.CloseWrite()
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("%q came back, %v", got, err)
	}
	over(t, joined)
}

func TestAConnectionThatIsCutCutsTheOther(t *testing.T) {
	t.Parallel()
	client, server, joined := through(t)
	if err := server.SetLinger(0); err != nil { // closing resets it
		t.Fatal(err)
	}
	server.Close()
	if err := client.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := client.Read(make([]byte, 1))
	if timeout, ok := errors.AsType[net.Error](err); err == nil || ok && timeout.Timeout() {
		t.Errorf("Read after a reset: %v", err)
	}
	over(t, joined)
}
