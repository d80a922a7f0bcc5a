package control

import (
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// late is a provider that may come while the server runs, such as that of an
// engine which is started later.
type late struct {
	berth.Provider
	kind  berth.ProviderKind
	open  func() (berth.Provider, string)
	clock berth.Clock

	mu     sync.Mutex // guards what follows
	opened berth.Provider
	why    string
	next   time.Time // of a try
	closed bool
}

// Late is a provider that is off until open returns one; until then open says why.
// It is tried at once, and again whenever somebody needs the provider.
func Late(kind berth.ProviderKind, clock berth.Clock, open func() (provider berth.Provider, why string)) berth.Provider {
	l := &late{kind: kind, clock: clock, open: open}
	l.find()
	return l
}

func (l *late) Kind() berth.ProviderKind { return l.kind }

// The time between two tries is a second, and more when a try takes long.
const (
	tryEvery  = time.Second
	tryFactor = 5
)

func (l *late) find() (opened berth.Provider, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if begun := l.clock.Now(); l.opened == nil && !l.closed && !begun.Before(l.next) {
		l.opened, l.why = l.open()
		ended := l.clock.Now()
		l.next = ended.Add(max(tryEvery, tryFactor*ended.Sub(begun)))
	}
	return l.opened, l.why
}

// Close closes what has come. Nothing comes any more.
func (l *late) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if c, ok := l.opened.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
