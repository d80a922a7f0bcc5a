package daytonaapi

import (
	"github.com/berth-dev/berth/shared/berth"
)

// marks takes a log of both streams apart. Three bytes 1 begin a part of standard
// output, three bytes 2 one of standard error; a part goes on to the next mark,
// and marks can be split over reads. What comes before the first mark is
// standard output.
type marks struct {
	stderr bool
	run    byte // 1 or 2 while a mark may be beginning
	length int
}

// strip leaves the bytes of standard output in p and returns how many there are.
// A run of fewer than three such bytes is no mark; it is held back until that is
// known, and dropped: what passes here is text.
func (m *marks) strip(p []byte) int {
	n := 0
	for _, b := range p {
		if b == 1 || b == 2 {
			if b != m.run {
				m.run, m.length = b, 0
			}
			if m.length++; m.length == 3 {
				m.stderr, m.run, m.length = b == 2, 0, 0
			}
			continue
		}
		m.run, m.length = 0, 0
		if !m.stderr {
			p[n] = b
			n++
		}
	}
	return n
}

func isConflict(err error) bool { return berth.CodeOf(err) == berth.CodeConflict }

func isNotFound(err error) bool { return berth.CodeOf(err) == berth.CodeNotFound }
