package wire

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// Preamble is the line that a relay writes before anything else. What a login
// script prints comes before it.
const Preamble = "berth-relay-1"

// lineBytes are what one line carries. Terminals cut lines at 4096 bytes.
const lineBytes = 3000

// Lines carries every byte over a stream that does not: each line is base64.
// Writes may be of any size; lines that are empty are passed over.
func Lines(rw io.ReadWriteCloser) io.ReadWriteCloser {
	return &lines{rw: rw, in: bufio.NewReaderSize(rw, 64<<10)}
}

type lines struct {
	rw   io.ReadWriteCloser
	in   *bufio.Reader
	left []byte
}

func (l *lines) Write(p []byte) (int, error) {
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(p))+len(p)/lineBytes*4+8)
	for rest := p; len(rest) > 0; {
		piece := rest[:min(len(rest), lineBytes)]
		out = append(base64.StdEncoding.AppendEncode(out, piece), '\n')
		rest = rest[len(piece):]
	}
	if _, err := l.rw.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		line, err := l.in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if l.left, err = base64.StdEncoding.DecodeString(strings.TrimSpace(line)); err != nil {
			return 0, fmt.Errorf("a line of a relay is no base64: %w", err)
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

func (l *lines) Close() error { return l.rw.Close() }
