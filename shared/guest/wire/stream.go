package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Stream sends and receives messages without files over any stream of bytes: a
// socket, a pair of pipes, a channel of SSH. Send may be called at the same time
// by many, Receive by one.
type Stream struct {
	rw io.ReadWriteCloser
	in *bufio.Reader

	mu  sync.Mutex // guards writing and out
	out []byte
}

// NewStream takes over rw.
func NewStream(rw io.ReadWriteCloser) *Stream {
	return &Stream{rw: rw, in: bufio.NewReaderSize(rw, 64<<10)}
}

// keptBuffer is the largest buffer that is kept for the next message.
const keptBuffer = 2 << 20

// Send writes m. After an error the stream is closed, as the peer may have got a
// part of a message.
func (s *Stream) Send(m Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.out, err = appendMessage(s.out[:0], m); err != nil {
		return err
	}
	if _, err = s.rw.Write(s.out); err != nil {
		s.rw.Close()
	}
	if cap(s.out) > keptBuffer {
		s.out = nil
	}
	return err
}

// Receive waits for the next message. It returns io.EOF when the peer is gone
// between messages.
func (s *Stream) Receive() (Message, error) {
	var m Message
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(s.in, prefix[:]); err != nil {
		return m, err
	}
	total, header := binary.BigEndian.Uint32(prefix[:]), binary.BigEndian.Uint32(prefix[4:])
	if total > MaxMessage || header > total {
		return m, fmt.Errorf("message of %d bytes with a header of %d", total, header)
	}
	message, err := s.read(int(total))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(message[:header], &m.Header); err != nil {
		return m, fmt.Errorf("decoding a message: %w", err)
	}
	if m.Header.Files != 0 {
		return m, fmt.Errorf("message promises %d files on a stream that carries none", m.Header.Files)
	}
	m.Body = message[header:]
	return m, nil
}

// read reads n bytes. For many the memory grows with what comes: a length alone
// takes little.
func (s *Stream) read(n int) ([]byte, error) {
	b := make([]byte, min(n, keptBuffer))
	if _, err := io.ReadFull(s.in, b); err != nil {
		return nil, unexpected(err)
	}
	if n > len(b) {
		rest, err := io.ReadAll(io.LimitReader(s.in, int64(n-len(b))))
		if b = append(b, rest...); err != nil || len(b) < n {
			return nil, unexpected(err)
		}
	}
	return b, nil
}

func unexpected(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Take gives the stream back, after the last message: what has come already is
// read first.
func (s *Stream) Take() io.ReadWriteCloser {
	return taken{s.in, s.rw}
}

type taken struct {
	io.Reader
	io.WriteCloser
}

// Close ends the stream and with it a Receive that waits.
func (s *Stream) Close() error { return s.rw.Close() }
