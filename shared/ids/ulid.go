// Package ids makes berth's ids: lower-case ULIDs.
package ids

import (
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/berth-dev/berth/shared/berth"
)

// Source makes ids that sort in the order in which one process makes them.
type Source struct {
	clock berth.Clock

	mu      sync.Mutex // guards entropy
	entropy io.Reader
}

var _ berth.IDs = (*Source)(nil)

// New makes a source that takes the time of its ids from clock.
func New(clock berth.Clock) *Source {
	return &Source{clock: clock, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// NewID returns a fresh lower-case ULID.
func (s *Source) NewID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := ulid.Timestamp(s.clock.Now().Truncate(time.Millisecond))
	id, err := ulid.New(ms, s.entropy)
	if err != nil {
		// The monotonic counter of one millisecond ran over; a fresh one cannot.
		s.entropy = ulid.Monotonic(rand.Reader, 0)
		id = ulid.MustNew(ms, s.entropy)
	}
	return strings.ToLower(id.String())
}
