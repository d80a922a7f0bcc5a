// Package githubtest is a GitHub of the tests' own: the REST routes that an App
// needs, which verify what they are sent, and real git behind them. It is one
// host, as a GitHub Enterprise server is: the API is under /api/v3.
package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// AppID and Slug name the one App.
const (
	AppID = "1234567"
	Slug  = "berth-test"
)

// Options say how a server is to be. The zero value is on loopback.
type Options struct {
	// Address is host:port to listen on, for sandboxes that do not see loopback.
	Address string
	// Watch is called at each request for git.
	Watch func(*http.Request)
}

// Repository is one that the server has.
type Repository struct {
	*gitservertest.Repository
	Owner, Name string
	// Public ones everybody may read.
	Public bool
	// Installation is where the App is installed; 0 is that it is not. Suspended
	// ones give no token, and neither do those Without contents.
	Installation int64
	Suspended    bool
	Without      bool
	// Formerly is a name that the repository had.
	Formerly string
	id       int64
}

// Fault is an answer that is not the usual one.
type Fault struct {
	Status int
	Header map[string]string
	Body   string // JSON; a message when empty
}

// Minted is a token that the server gave.
type Minted struct {
	Token       string
	Repository  string // owner/name
	Permissions map[string]string
	unseen      int // requests for git that do not know it yet
	expires     time.Time
}

// Server is a running GitHub.
type Server struct {
	// URL is that of the repositories.
	URL string
	// Key is the App's private key, in PEM.
	Key string

	http   *httptest.Server
	key    *rsa.PrivateKey
	watch  func(*http.Request)
	caFile string

	mu           sync.Mutex // guards what follows
	repositories []*Repository
	faults       map[string][]Fault // by route, in their order
	minted       []*Minted
	calls        []string // METHOD path of each call of the API
	now          func() time.Time
	lag          int
}

// Start runs a server until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{watch: o.Watch, faults: map[string][]Fault{}, now: time.Now}
	s.newKey(t)
	host, _, _ := net.SplitHostPort(l.Addr().String())
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.routes()}, TLS: &tls.Config{Certificates: []tls.Certificate{s.certificate(t, host)}}}
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	s.URL = s.http.URL
	return s
}

// Client trusts the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Add gives the server a repository, with a history of its own.
func (s *Server) Add(t testing.TB, r Repository) *Repository {
	t.Helper()
	r.Repository = gitservertest.NewRepository(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.id = int64(9000 + len(s.repositories))
	s.repositories = append(s.repositories, &r)
	return &r
}

// Change changes a repository while the server runs.
func (s *Server) Change(r *Repository, change func(*Repository)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(r)
}

// Fail makes the next calls of a route fail, one after the other. Routes are "app",
// "installation" and "tokens" of the API, and "git".
func (s *Server) Fail(route string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[route] = append(s.faults[route], faults...)
}

// LagBehind makes each new token unknown to the first n requests for git.
func (s *Server) LagBehind(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = n
}

// SetClock sets the server's time, which is also in its answers.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Minted are all tokens that the server gave.
func (s *Server) Minted() []Minted {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Minted
	for _, m := range s.minted {
		all = append(all, *m)
	}
	return all
}

// Calls are the method and path of each call of the API.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

func newToken() string {
	var b [18]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "ghs_" + hex.EncodeToString(b[:])
}
