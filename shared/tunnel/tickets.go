// Package tunnel carries streams into sandboxes over WebSockets, from a client
// straight to the program that has the sandbox: a host agent, or the embedded
// server. Who may open what is said by tickets, which are kept in memory alone.
package tunnel

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// ShellLife is how long a ticket for a shell is good: it is used at once.
	ShellLife = time.Minute
	// PortLife is that of a port's. Connections outlast it.
	PortLife = 10 * time.Minute

	maxTickets = 4096
	maxStreams = 512 // at a time
	ticketSize = 32  // random bytes
)

// Opener opens the stream that a ticket is for.
type Opener = func(ctx context.Context, spec berth.StreamSpec) (io.ReadWriteCloser, error)

// Tickets are those that were given out and are still good. They are safe for
// concurrent use.
type Tickets struct {
	clock  berth.Clock
	random io.Reader
	over   chan struct{} // closed when all streams are to end
	work   sync.WaitGroup

	mu      sync.Mutex // guards all below
	closed  bool
	held    map[[sha256.Size]byte]*ticket
	streams int
}

// ticket never holds its value, only the hash that it is found by.
type ticket struct {
	spec  berth.StreamSpec
	open  Opener
	until time.Time
}

// NewTickets makes an empty store; a nil clock is the system's.
func NewTickets(clock berth.Clock) *Tickets {
	if clock == nil {
		clock = berth.SystemClock{}
	}
	return &Tickets{clock: clock, random: rand.Reader, over: make(chan struct{}), held: map[[sha256.Size]byte]*ticket{}}
}

// onEnd calls end when all streams are to end, unless stop is called before.
func (t *Tickets) onEnd(end func()) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-t.over:
			end()
		case <-done:
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// Close ends all streams, and no ticket is good any more.
func (t *Tickets) Close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.over)
	}
	clear(t.held)
	t.mu.Unlock()
	t.work.Wait()
}

// Issue gives out a ticket, whose URL is the caller's to say. ttl is cut to what
// the kind of stream allows; zero is that. Errors: invalid, rate_limited.
func (t *Tickets) Issue(spec berth.StreamSpec, ttl time.Duration, open Opener) (berth.Ticket, error) {
	if err := spec.Check(); err != nil {
		return berth.Ticket{}, err
	}
	longest := PortLife
	if spec.Kind == berth.StreamShell {
		longest = ShellLife
	}
	if ttl <= 0 || ttl > longest {
		ttl = longest
	}
	var raw [ticketSize]byte
	if _, err := io.ReadFull(t.random, raw[:]); err != nil {
		return berth.Ticket{}, berth.Wrap(err, "making a ticket")
	}
	value := base64.RawURLEncoding.EncodeToString(raw[:])
	now := t.clock.Now()
	until := now.Add(ttl)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return berth.Ticket{}, errEnding
	}
	if len(t.held) >= maxTickets {
		t.sweep(now)
	}
	if len(t.held) >= maxTickets {
		return berth.Ticket{}, berth.Errorf(berth.CodeRateLimited, "%d tickets are out already: try again in a minute", maxTickets)
	}
	t.held[sha256.Sum256([]byte(value))] = &ticket{spec, open, until}
	return berth.Ticket{Value: value, ExpiresAt: until.UTC()}, nil
}

func (t *Tickets) sweep(now time.Time) {
	for sum, held := range t.held {
		if !now.Before(held.until) {
			delete(t.held, sum)
		}
	}
}

var (
	errEnding = berth.Errorf(berth.CodeUnavailable, "the server is ending")
	errTicket = &berth.Error{
		Code: berth.CodeUnauthenticated, Message: "the ticket is not known: it has been used, is too old, or is of another server",
		Remediation: "Ask for another one: berth sandbox ssh and berth sandbox preview do.",
	}
)

// redeem takes a ticket that is good: a shell's is good once, whatever comes of
// it. done has to be called when the stream is over.
func (t *Tickets) redeem(value string) (held *ticket, done func(), err error) {
	sum := sha256.Sum256([]byte(value))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, nil, errEnding
	}
	held = t.held[sum]
	if held == nil {
		return nil, nil, errTicket
	}
	late := !t.clock.Now().Before(held.until)
	if late || held.spec.Kind == berth.StreamShell {
		delete(t.held, sum)
	}
	if late {
		return nil, nil, errTicket
	}
	if t.streams >= maxStreams {
		return nil, nil, berth.Errorf(berth.CodeRateLimited, "%d streams are open already", maxStreams)
	}
	t.streams++
	t.work.Add(1)
	return held, func() {
		t.mu.Lock()
		t.streams--
		t.mu.Unlock()
		t.work.Done()
	}, nil
}
