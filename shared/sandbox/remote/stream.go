package remote

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// stream is a body of a known size. It fails before its last byte when the source
// has less or more, so that the agent never takes a wrong one for whole.
type stream struct {
	size int64

	mu     sync.Mutex // guards all below; net/http reads in a goroutine of its own
	source io.Reader
	left   int64
	begun  bool
	whole  bool // the source has ended where it should
	err    error
	timer  *time.Timer // of the attempt; it stands still while the source is read
}

func newStream(source io.Reader, size int64) *stream {
	return &stream{size: size, source: source, left: size}
}

// Read is for the transport.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if s.whole {
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
		s.err = berth.FieldErrorf(berth.CodeInvalid, "size", "is more than what came: %d bytes are missing", s.left)
	case err != nil:
		s.err = berth.Wrap(err, "reading what is to be written")
	}
	if s.err != nil {
		return 0, s.err
	}
	return n, nil
}

// checkEnd makes sure that the source has no more.
func (s *stream) checkEnd() {
	var more [1]byte
	switch n, err := io.ReadFull(s.source, more[:]); {
	case n > 0:
		s.err = berth.FieldErrorf(berth.CodeInvalid, "size", "is less than what came")
	case !errors.Is(err, io.EOF):
		s.err = berth.Wrap(err, "reading what is to be written")
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

// end keeps the transport from the source, which is the caller's again. It
// returns the source's own fault and whether any of it was read.
func (s *stream) end() (fault error, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.err != nil && !errors.Is(s.err, errOver) {
		fault = s.err
	}
	if s.begun && s.err == nil {
		s.err = errOver
	}
	return fault, s.begun
}
