package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// Config is what Sandboxes need.
type Config struct {
	// Dial connects to the daemon of a sandbox, or to a relay that stands before
	// it. The daemon's folder is made only when create says so. Errors: not_found
	// when the sandbox does not exist; conflict when it is stopped from outside;
	// unavailable, after which it is dialled again for a while; others are told as
	// they are.
	Dial func(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error)
	// Streams says that Dial may be called for further connections while the first
	// is used: each stream has its own.
	Streams bool
	// DialStream makes the connections of streams where Dial makes one at a time
	// only; Dial does when it is nil.
	DialStream func(ctx context.Context, ref berth.SandboxRef) (io.ReadWriteCloser, error)
	// Patience is how long a request goes on dialling after a connection broke or
	// could not be made; DefaultPatience when zero.
	Patience time.Duration
	// Clock paces the dialling; the system's when nil.
	Clock berth.Clock
}

// DefaultPatience outlasts the restart of a daemon or of an SSH server.
const DefaultPatience = 20 * time.Second

// Sandboxes are far sandboxes, each with one connection that all share. They are
// safe for concurrent use.
type Sandboxes struct {
	config Config

	mu    sync.Mutex // guards all below
	peers map[berth.SandboxID]*peer
	over  bool
}

// peer is the connection to one sandbox.
type peer struct {
	turn chan struct{} // taken by who dials
	link *link         // guarded by Sandboxes.mu; nil or ended while there is none
}

// New makes no connection yet.
func New(config Config) *Sandboxes {
	if config.Patience == 0 {
		config.Patience = DefaultPatience
	}
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	return &Sandboxes{config: config, peers: map[berth.SandboxID]*peer{}}
}

// Close ends all connections. The sandboxes go on.
func (s *Sandboxes) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, p := range s.peers {
		if p.link != nil {
			p.link.stream.Close()
		}
	}
	return nil
}

// Forget ends the connection to a sandbox that is gone.
func (s *Sandboxes) Forget(id berth.SandboxID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[id]; p != nil && p.link != nil {
		p.link.stream.Close()
	}
	delete(s.peers, id)
}

func (s *Sandboxes) find(id berth.SandboxID) (*peer, *link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, berth.Errorf(berth.CodeUnavailable, "the provider has been closed")
	}
	p := s.peers[id]
	if p == nil {
		p = &peer{turn: make(chan struct{}, 1)}
		s.peers[id] = p
	}
	if p.link != nil && p.link.alive() {
		return p, p.link, nil
	}
	return p, nil, nil
}

// connect returns the live connection to ref, and dials when there is none.
func (s *Sandboxes) connect(ctx context.Context, ref berth.SandboxRef, create bool) (*link, error) {
	p, l, err := s.find(ref.ID)
	if l != nil || err != nil {
		return l, err
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, client.ContextError(ctx)
	}
	defer func() { <-p.turn }()
	s.mu.Lock()
	if l := p.link; l != nil && l.alive() { // who had the turn before has dialled
		s.mu.Unlock()
		return l, nil
	}
	s.mu.Unlock()
	rw, err := s.config.Dial(ctx, ref, create)
	if err != nil {
		return nil, err
	}
	l, err = newLink(ctx, rw)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.peers[ref.ID] != p {
		l.stream.Close()
		return nil, errBroken
	}
	p.link = l
	return l, nil
}

const (
	retryMin = 20 * time.Millisecond
	retryMax = 2 * time.Second
	// callLimit is for calls whose context has no deadline.
	callLimit = 2 * time.Minute
)

// ask asks the daemon of ref, over another connection when one breaks: each
// request changes nothing twice. again is how often it was asked before.
func (s *Sandboxes) ask(ctx context.Context, ref berth.SandboxRef, op wire.Op, params any, body []byte, result any) (data []byte, again int, err error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callLimit)
		defer cancel()
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding a request: %w", err)
	}
	if n := len(encoded) + len(body); n > wire.MaxMessage-wire.HeaderRoom {
		return nil, 0, berth.Errorf(berth.CodeTooLarge, "the request of %d bytes is over the cap of %d", n, wire.MaxMessage-wire.HeaderRoom)
	}
	m, again, err := s.insist(ctx, ref, op, encoded, body)
	if err != nil {
		return nil, again, err
	}
	if result != nil {
		if err := json.Unmarshal(m.Params, result); err != nil {
			return nil, again, fmt.Errorf("reading the answer to %s: %w", op, err)
		}
	}
	return m.Body, again, nil
}

func (s *Sandboxes) insist(ctx context.Context, ref berth.SandboxRef, op wire.Op, params json.RawMessage, body []byte) (m wire.Message, again int, err error) {
	var until time.Time
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		var l *link
		asked := false
		if l, err = s.connect(ctx, ref, op == wire.OpProvision); err == nil {
			asked = true
			m, err = l.call(ctx, op, params, body)
		}
		broken := errors.Is(err, errBroken) || !asked && berth.CodeOf(err) == berth.CodeUnavailable
		if err == nil || !broken {
			return m, again, err
		}
		now := s.config.Clock.Now()
		if until.IsZero() {
			until = now.Add(s.config.Patience)
		}
		if now.After(until) || s.closed() {
			return m, again, unreachable(err)
		}
		if s.config.Clock.Sleep(ctx, pause) != nil {
			return m, again, client.ContextError(ctx)
		}
		if asked {
			again++
		}
	}
}

func (s *Sandboxes) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// unreachable gives a broken connection its code.
func unreachable(err error) error {
	if berth.CodeOf(err) == berth.CodeUnavailable {
		return err
	}
	return &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox does not answer", Cause: err}
}
