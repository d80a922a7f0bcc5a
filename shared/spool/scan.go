package spool

import (
	"bufio"
	"errors"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

// Scanner walks over the whole frames of a stream that begins at an edge.
type Scanner struct {
	r       *bufio.Reader
	t       Type
	payload []byte
	end     int64
	err     error
}

// NewScanner reads from r.
func NewScanner(r io.Reader) *Scanner { return newScanner(r, MaxFrame) }

// newScanner knows that r has no more than size bytes, and buffers no more.
func newScanner(r io.Reader, size int64) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, int(min(size, MaxFrame)))}
}

// Next moves to the next whole frame. It is false at the end, before a cut last
// frame, and after an error.
func (s *Scanner) Next() bool {
	if s.err != nil {
		return false
	}
	// Peek holds a frame of any legal length, so a payload is never copied.
	if _, err := s.r.Discard(int(s.pending())); err != nil {
		s.fail(err)
		return false
	}
	head, err := s.r.Peek(HeaderBytes)
	if err != nil {
		s.fail(err)
		return false
	}
	t, need, err := header(head)
	if err != nil {
		s.fail(err)
		return false
	}
	frame, err := s.r.Peek(need)
	if err != nil {
		s.fail(err)
		return false
	}
	s.t, s.payload = t, frame[HeaderBytes:]
	s.end += int64(need)
	return true
}

// pending is the length of the frame that Next returned last and has not
// dropped from the buffer.
func (s *Scanner) pending() int {
	if s.t == 0 {
		return 0
	}
	return HeaderBytes + len(s.payload)
}

func (s *Scanner) fail(err error) {
	s.t, s.payload = 0, nil
	s.err = err
}

// Type is the present frame's type.
func (s *Scanner) Type() Type { return s.t }

// Payload is the present frame's content, valid until the next call of Next.
func (s *Scanner) Payload() []byte { return s.payload }

// End is the offset behind the last whole frame, counted from where r began.
func (s *Scanner) End() int64 { return s.end }

// Err is what stopped the scan: nil at the end and before a cut last frame;
// invalid when what was read is no frame.
func (s *Scanner) Err() error {
	// A buffer of all that is there is too small only for a frame that is cut.
	if errors.Is(s.err, io.EOF) || errors.Is(s.err, bufio.ErrBufferFull) {
		return nil
	}
	return s.err
}

// Decode splits b, which begins at an edge, into output frames. Exit is set when
// the exit frame is among them; start frames are passed over and a cut last
// frame is dropped. The frames share b's memory. Errors: invalid.
func Decode(b []byte) (frames []berth.Frame, exit *berth.Exit, err error) {
	for len(b) > 0 {
		t, need, err := header(b)
		if err != nil {
			return nil, nil, err
		}
		if need == 0 || need > len(b) {
			break
		}
		payload := b[HeaderBytes:need:need]
		b = b[need:]
		if stream, ok := StreamOf(t); ok {
			frames = append(frames, berth.Frame{Stream: stream, Data: payload})
		}
		if t == TypeExit {
			exit = new(berth.Exit)
			if err := decodeJSON("exit", payload, exit); err != nil {
				return nil, nil, err
			}
			break
		}
	}
	return frames, exit, nil
}

// FirstStart reads the start frame at the beginning of a spool; nil when the
// spool is empty or begins with another frame.
func FirstStart(r io.ReaderAt) (*Start, error) {
	b, err := ReadWhole(r, 0, HeaderBytes)
	if err != nil || len(b) == 0 || Type(b[0]) != TypeStart {
		return nil, err
	}
	start := new(Start)
	return start, decodeJSON("start", b[HeaderBytes:], start)
}

// ReadWhole returns the whole frames at offset, at most limit bytes of them, but
// one frame at least if there is one. Whether offset is an edge is checked only
// as far as that frames can be read there; [Index] knows for certain.
func ReadWhole(r io.ReaderAt, offset int64, limit int) ([]byte, error) {
	buf := make([]byte, max(limit, HeaderBytes))
	n, err := readAt(r, buf, offset)
	if err != nil {
		return nil, err
	}
	whole, need, err := wholeFrames(buf[:n])
	switch {
	case err != nil:
		return nil, err
	case whole > 0 || need == 0:
		return buf[:whole], nil
	}
	buf = make([]byte, need)
	n, err = readAt(r, buf, offset)
	if err != nil || n < need {
		return nil, err
	}
	return buf, nil
}

// wholeFrames returns the length of the whole frames at the head of b and the
// length of the first frame that is cut (0 when that is not known).
func wholeFrames(b []byte) (whole, need int, err error) {
	for whole < len(b) {
		_, need, err := header(b[whole:])
		if err != nil {
			return 0, 0, err
		}
		if need == 0 || whole+need > len(b) {
			return whole, need, nil
		}
		whole += need
	}
	return whole, 0, nil
}

func readAt(r io.ReaderAt, buf []byte, offset int64) (int, error) {
	n, err := r.ReadAt(buf, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
