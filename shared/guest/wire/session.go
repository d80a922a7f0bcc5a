package wire

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// ErrSession says that a session was ended by the other side, or lost a packet.
var ErrSession = errors.New("the session is over")

// stuckLimit is how long a session may leave unread what came for it.
const stuckLimit = 10 * time.Second

// PacketWriter writes packets of any number of sessions, each as a whole.
type PacketWriter struct {
	mu  sync.Mutex // guards all below
	out io.Writer
	buf []byte
}

// NewPacketWriter writes to w.
func NewPacketWriter(w io.Writer) *PacketWriter { return &PacketWriter{out: w} }

func (w *PacketWriter) write(p Packet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = appendPacket(w.buf[:0], p)
	_, err := w.out.Write(w.buf)
	return err
}

// Tell sends one packet that is no data, with params when they are not nil.
func (w *PacketWriter) Tell(session uint64, kind PacketKind, params any) error {
	p := Packet{Session: session, Kind: kind}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return err
		}
		p.Data = b
	}
	return w.write(p)
}

// Session is one stream in packets. It is read and written as a connection is;
// Take hands it what came for it.
type Session struct {
	id    uint64
	out   *PacketWriter
	read  *io.PipeReader
	feed  *io.PipeWriter
	over  chan struct{} // closed when nothing is sent any more
	once  sync.Once
	ended func() // after the end; nil is nothing

	sending sync.Mutex // guards sent; held while a write is made
	sent    uint32
	taken   uint32 // used by who calls Take only
}

// NewSession sends by w. ended, which may be nil, is called once at its end.
func NewSession(id uint64, w *PacketWriter, ended func()) *Session {
	s := &Session{id: id, out: w, over: make(chan struct{}), ended: ended}
	s.read, s.feed = io.Pipe()
	return s
}

// ID tells it from every other.
func (s *Session) ID() uint64 { return s.id }

// Alive reports whether it has not ended.
func (s *Session) Alive() bool {
	select {
	case <-s.over:
		return false
	default:
		return true
	}
}

// Read returns what Take was given.
func (s *Session) Read(p []byte) (int, error) { return s.read.Read(p) }

// Write sends p in as many packets as it takes.
func (s *Session) Write(p []byte) (n int, err error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	for n < len(p) {
		if !s.Alive() {
			return n, ErrSession
		}
		piece := p[n:min(n+packetData, len(p))]
		if err := s.out.write(Packet{Session: s.id, Kind: PacketData, Seq: s.sent, Data: piece}); err != nil {
			return n, err
		}
		s.sent++
		n += len(piece)
	}
	return n, nil
}

// Take hands on a packet of data, and returns when it has been read. One that is
// missing before it ends the session, as does a reader that does not read.
func (s *Session) Take(p Packet) {
	if p.Seq != s.taken {
		s.Close()
		return
	}
	s.taken++
	stuck := time.AfterFunc(stuckLimit, func() { s.Close() })
	defer stuck.Stop()
	_, _ = s.feed.Write(p.Data) // it fails when the session is over
}

// Close ends the session and says so.
func (s *Session) Close() error { return s.end(true) }

// Ended ends the session as the other side has.
func (s *Session) Ended() { _ = s.end(false) }

func (s *Session) end(tell bool) error {
	s.once.Do(func() {
		close(s.over)
		s.feed.CloseWithError(io.EOF)
		if tell {
			// Not waited for: pipes that nobody empties take nothing.
			go func() {
				_ = s.out.Tell(s.id, PacketClose, nil)
				s.finish()
			}()
			return
		}
		s.finish()
	})
	return nil
}

func (s *Session) finish() {
	if s.ended != nil {
		s.ended()
	}
}
