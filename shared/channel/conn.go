package channel

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Conn is a stream of frames as a connection, for who speaks a protocol over it
// in this process. Reads and writes are each for one goroutine at a time.
type Conn struct {
	stream  io.ReadWriteCloser
	in      *Reader
	out     *Writer
	rest    []byte // of the last frame
	ended   bool   // by the other side
	once    sync.Once
	stop    chan struct{}
	telling sync.WaitGroup
}

var _ net.Conn = (*Conn)(nil)

// NewConn takes over stream.
func NewConn(stream io.ReadWriteCloser) *Conn {
	c := &Conn{stream: stream, in: NewReader(stream), out: NewWriter(stream), stop: make(chan struct{})}
	c.telling.Go(func() { KeepTelling(c.out, c.stop, func() { stream.Close() }) })
	return c
}

func (c *Conn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if len(p) == 0 {
			return 0, nil
		}
		f, err := c.in.Next()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the stream is gone without an end of the connection
		}
		if err != nil {
			return 0, err
		}
		switch f.Kind {
		case Data:
			c.rest = f.Payload
		case End:
			c.ended = true
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *Conn) Write(p []byte) (int, error) { return c.out.Write(p) }

// CloseWrite says that no more bytes come.
func (c *Conn) CloseWrite() error { return c.out.End() }

// Close ends both directions, and a Read or Write that waits.
func (c *Conn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.stop)
		err = c.stream.Close()
		c.telling.Wait()
	})
	return err
}

// LocalAddr has no numbers: the stream may be of any kind.
func (c *Conn) LocalAddr() net.Addr { return noAddr{} }

// RemoteAddr is as LocalAddr.
func (c *Conn) RemoteAddr() net.Addr { return noAddr{} }

type noAddr struct{}

func (noAddr) Network() string { return "berth-stream" }
func (noAddr) String() string  { return "sandbox" }

// SetDeadline is refused: a frame that was read or written in part would end the
// stream. Close it instead.
func (c *Conn) SetDeadline(time.Time) error { return errDeadline }

// SetReadDeadline is as SetDeadline.
func (c *Conn) SetReadDeadline(time.Time) error { return errDeadline }

// SetWriteDeadline is as SetDeadline.
func (c *Conn) SetWriteDeadline(time.Time) error { return errDeadline }

var errDeadline = errors.New("a stream has no deadlines")
