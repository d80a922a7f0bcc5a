package remote

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// stream is a body of a size that the agent is told. When the source fails, or has
// less or more, the body ends before its last byte: the agent then never takes
// it for whole, and answers when it has cleared away what came.
type stream struct {
	mu     sync.Mutex // guards all below; net/http reads in a goroutine of its own
	source io.Reader
	left   int64
	begun  bool
	whole  bool        // the source has ended where it should
	fault  error       // the source's own
	over   bool        // the source is the caller's again
	timer  *time.Timer // of the attempt; it stands still while the source is read
}

func newStream(source io.Reader, size int64) *stream {
	return &stream{source: source, left: size}
}

// Read is for the transport.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return 0, errOver
	case s.whole || s.fault != nil:
		return 0, io.EOF
	}
	s.begun = true
	if s.timer != nil {
		s.timer.Stop()
		defer s.timer.Reset(callTime)
	}
	n, err := s.source.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	switch {
	case s.left == 0:
		s.checkEnd()
	case errors.Is(err, io.EOF):
		s.fault = berth.FieldErrorf(berth.CodeInvalid, "size", "is more than what came: %d bytes are missing", s.left)
	case err != nil:
		s.fault = berth.Wrap(err, "reading what is to be written")
	}
	if s.fault != nil {
		return 0, io.EOF
	}
	return n, nil
}

// checkEnd makes sure that the source has no more.
func (s *stream) checkEnd() {
	var more [1]byte
	switch n, err := io.ReadFull(s.source, more[:]); {
	case n > 0:
		s.fault = berth.FieldErrorf(berth.CodeInvalid, "size", "is less than what came")
	case !errors.Is(err, io.EOF):
		s.fault = berth.Wrap(err, "reading what is to be written")
	default:
		s.whole = true
	}
}

// begin puts the attempt's timer off as long as bytes move.
func (s *stream) begin(timer *time.Timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = timer
}

var errOver = errors.New("the attempt is over")

// end keeps the transport from the source, which is the caller's again once any of
// it was read. It returns the source's own fault.
func (s *stream) end() (fault error, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	s.over = s.begun
	return s.fault, s.begun
}
