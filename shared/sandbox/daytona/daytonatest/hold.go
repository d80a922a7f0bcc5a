//go:build linux

package daytonatest

import (
	"net/http"
	"strings"
)

// Hold lets the requests of a method whose path ends so wait before their effect,
// until release is called.
func (s *Server) Hold(method, suffix string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := make(chan struct{})
	if s.held == nil {
		s.held = map[string]chan struct{}{}
	}
	s.held[method+" "+suffix] = over
	return func() {
		s.mu.Lock()
		delete(s.held, method+" "+suffix)
		s.mu.Unlock()
		close(over)
	}
}

// heldBy is what a request waits for to be closed, nil for nothing; the server's mu
// is held.
func (s *Server) heldBy(r *http.Request) <-chan struct{} {
	for what, over := range s.held {
		if method, suffix, _ := strings.Cut(what, " "); r.Method == method && strings.HasSuffix(r.URL.Path, suffix) {
			return over
		}
	}
	return nil
}
