package wire

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

func TestStreamsCarryMessagesHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	for _, lines := range []bool{false, true} {
		var sent bytes.Buffer
		var w io.ReadWriteCloser = stream{strings.NewReader(""), &sent}
		if lines {
			w = Lines(w)
		}
		out := NewStream(w)
		for i := range 40 {
			if err := out.Send(Message{Header: Header{ID: uint64(i), Op: OpPing}, Body: bytes.Repeat([]byte{0, byte(i), '\n'}, i*i*30)}); err != nil {
				t.Fatal(err)
			}
		}
		if lines && (bytes.ContainsRune(sent.Bytes(), 0) || longest(sent.String()) > 4096) {
			t.Errorf("lines hold a NUL, or one has %d bytes", longest(sent.String()))
		}
		for name, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			var r io.ReadWriteCloser = stream{cut(bytes.NewReader(sent.Bytes())), io.Discard}
			if lines {
				r = Lines(r)
			}
			in := NewStream(r)
			for i := range 40 {
				m, err := in.Receive()
				if err != nil || m.ID != uint64(i) || !bytes.Equal(m.Body, bytes.Repeat([]byte{0, byte(i), '\n'}, i*i*30)) {
					t.Fatalf("lines %v, %s: message %d came as %d with %d bytes, %v", lines, name, i, m.ID, len(m.Body), err)
				}
			}
			if _, err := in.Receive(); err != io.EOF {
				t.Errorf("lines %v, %s: at the end: %v", lines, name, err)
			}
		}
	}
}

func longest(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, len(line))
	}
	return n
}

func TestNonsenseEndsAStream(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"too long":           "\xff\xff\xff\xff\x00\x00\x00\x02{}",
		"header too long":    "\x00\x00\x00\x02\x00\x00\x00\x03{}",
		"no JSON":            "\x00\x00\x00\x02\x00\x00\x00\x02{{",
		"files":              "\x00\x00\x00\x0b\x00\x00\x00\x0b{\"files\":1}",
		"cut":                "\x00\x00\x00\x0b\x00\x00\x00\x0b{\"fi",
		"cut in its length":  "\x00\x00",
		"long, and not come": "\x00\xff\xff\xff\x00\x00\x00\x02{}",
	} {
		if m, err := NewStream(stream{strings.NewReader(raw), io.Discard}).Receive(); err == nil || err == io.EOF {
			t.Errorf("%s: Receive = %+v, %v", name, m, err)
		}
	}
	if _, err := NewStream(Lines(stream{strings.NewReader("no base64!\n"), io.Discard})).Receive(); err == nil {
		t.Error("a line that is no base64 was taken")
	}
}
