//go:build linux

package main

import (
	"bytes"
	"sync"
)

// said is what a process has written so far, read while it goes on.
type said struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *said) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Reset()
}
