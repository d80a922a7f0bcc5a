package httpapi

import (
	"io"
	"net/http"
	"time"
)

// stallTime is how long a stream may stand still before its client counts as gone.
const stallTime = time.Minute

// steadyReader gives up on a client that sends nothing for a while, however long
// the whole takes.
type steadyReader struct {
	r io.Reader
	deadline
}

func newSteadyReader(x *exchange) *steadyReader {
	return &steadyReader{x.r.Body, deadline{set: http.NewResponseController(x.w).SetReadDeadline}}
}

func (s *steadyReader) Read(p []byte) (int, error) {
	if s.r == nil {
		return 0, io.EOF
	}
	s.extend()
	return s.r.Read(p)
}

// steadyWriter is the same for a client that takes nothing.
type steadyWriter struct {
	x *exchange
	deadline
}

func newSteadyWriter(x *exchange) *steadyWriter {
	return &steadyWriter{x, deadline{set: http.NewResponseController(x.w).SetWriteDeadline}}
}

func (s *steadyWriter) Write(p []byte) (int, error) {
	s.extend()
	return s.x.Write(p)
}

// deadline moves on as long as bytes do.
type deadline struct {
	set   func(time.Time) error
	until time.Time
	off   bool // the connection has none, as behind the gateway
}

func (d *deadline) extend() {
	if now := time.Now(); !d.off && d.until.Sub(now) < stallTime/2 {
		d.until = now.Add(stallTime)
		d.off = d.set(d.until) != nil
	}
}

// end leaves the connection without a deadline for its next request.
func (d *deadline) end() {
	if !d.off {
		_ = d.set(time.Time{})
	}
}
