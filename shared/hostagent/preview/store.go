// Package preview lets browsers reach ports of sandboxes: each preview is an
// origin of its own, which a ticket in its URL opens for one browser, once. What
// is known of them is kept in memory alone.
package preview

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/tunnel"
)

const (
	// EnterLife is how long a URL may wait to be opened.
	EnterLife = 10 * time.Minute
	// Life is how long a preview lasts when nobody says.
	Life = 8 * time.Hour

	// MaxConns is how many connections browsers, and whoever else finds the address,
	// may have open at a time.
	MaxConns = 2048

	// Query is the parameter with the ticket.
	Query = "berth-ticket"
	// Cookie is what a browser is let in by. Its prefix keeps pages of other names,
	// and of plain http, from setting it.
	Cookie = "__Host-berth-preview"

	maxPreviews   = 1024
	maxRequests   = 1024 // at a time, of all previews
	maxOfOne      = 128  // of them of one preview
	labelBytes    = 16   // random: 26 characters
	credentialLen = 32   // random bytes
)

// Config is what a Store needs. URL is required.
type Config struct {
	URL berth.PublicURL
	// Proxied says that a proxy in front ends TLS: its word is taken for who asks.
	Proxied bool
	Clock   berth.Clock // the system's when nil
	Logger  *slog.Logger
}

// Store has the previews of one agent, and serves them to browsers. It is safe for
// concurrent use.
type Store struct {
	config Config
	random io.Reader
	work   sync.WaitGroup

	mu       sync.Mutex // guards all below
	closed   bool
	previews map[string]*preview // by label
	requests int
}

// New makes an empty store.
func New(config Config) *Store {
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{config: config, random: rand.Reader, previews: map[string]*preview{}}
}

// URL is that of all previews, with a star.
func (s *Store) URL() berth.PublicURL { return s.config.URL }

// Open makes a preview of a port. It lasts for ttl, but for EnterLife only when no
// browser opens it. Errors: invalid; rate_limited; unavailable after Close.
func (s *Store) Open(sandbox berth.SandboxID, port int, ttl time.Duration, open tunnel.Opener) (url string, until time.Time, err error) {
	spec := berth.StreamSpec{Kind: berth.StreamPort, Port: port}
	if err := spec.Check(); err != nil {
		return "", until, err
	}
	if ttl <= 0 {
		ttl = Life
	}
	ttl = min(ttl, berth.MaxStreamTTL)
	var raw [labelBytes + credentialLen]byte
	if _, err := io.ReadFull(s.random, raw[:]); err != nil {
		return "", until, berth.Wrap(err, "making a preview")
	}
	label := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw[:labelBytes]))
	ticket := base64.RawURLEncoding.EncodeToString(raw[labelBytes:])
	now := s.config.Clock.Now()
	p := &preview{
		label: label, sandbox: sandbox, origin: s.config.URL.Origin(label), spec: spec, open: open, logger: s.config.Logger,
		enterUntil: now.Add(min(ttl, EnterLife)), until: now.Add(ttl), ticket: sha256.Sum256([]byte(ticket)), running: map[int]context.CancelFunc{},
	}
	p.transport = p.newTransport()
	if err := s.add(p, ttl); err != nil {
		return "", until, err
	}
	return p.origin + "/?" + Query + "=" + ticket, p.until, nil
}

func (s *Store) add(p *preview, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return berth.Errorf(berth.CodeUnavailable, "the host agent is ending")
	case len(s.previews) >= maxPreviews:
		return berth.Errorf(berth.CodeRateLimited, "%d previews are open on the host already: try again in a while", maxPreviews)
	}
	s.previews[p.label] = p
	// Its time ends connections that are open, too.
	ctx, cancel := context.WithCancel(context.Background())
	p.forget = cancel
	s.work.Go(func() {
		defer cancel()
		first := min(ttl, EnterLife)
		if s.config.Clock.Sleep(ctx, first) == nil && (!p.entered() || s.config.Clock.Sleep(ctx, ttl-first) == nil) {
			s.end(p)
		}
	})
	return nil
}

// end takes a preview out and breaks off what goes on in it.
func (s *Store) end(p *preview) {
	s.mu.Lock()
	delete(s.previews, p.label)
	s.mu.Unlock()
	p.end()
}

// End ends the previews of a sandbox.
func (s *Store) End(sandbox berth.SandboxID) {
	s.endAll(func(p *preview) bool { return p.sandbox == sandbox })
}

// EndAll ends all previews; others may be opened.
func (s *Store) EndAll() { s.endAll(func(*preview) bool { return true }) }

func (s *Store) endAll(of func(*preview) bool) {
	s.mu.Lock()
	var over []*preview
	for _, p := range s.previews {
		if of(p) {
			over = append(over, p)
		}
	}
	s.mu.Unlock()
	for _, p := range over {
		s.end(p)
	}
}

// Close ends all previews for good.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.EndAll()
	s.work.Wait()
}

// find is the preview of a label that is good now.
func (s *Store) find(label string) *preview {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.previews[label]
	if p == nil || !s.config.Clock.Now().Before(p.until) {
		return nil
	}
	return p
}

// take counts a request; done has to be called when it is over.
func (s *Store) take() (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests >= maxRequests {
		return nil, false
	}
	s.requests++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
	}, true
}
