//go:build linux

package daytonatest

// Hang lets the next n commands of sessions be accepted and neither run nor end.
func (s *Server) Hang(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = n
}

// Idle lets the next n commands of sessions be accepted and not run: they end at
// once, with a success.
func (s *Server) Idle(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = n
}

// TruncateUploads lets the next n uploads end early, with a success.
func (s *Server) TruncateUploads(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truncate = n
}

// CutStreams ends all logs that are being followed.
func (s *Server) CutStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// take counts one of a mode down, and reports whether there was one.
func (s *Server) take(left *int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *left > 0 {
		*left--
		return true
	}
	return false
}

func (s *Server) cuts() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// Pretend gives a command that is executed an answer without running it.
func (s *Server) Pretend(command, result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pretended == nil {
		s.pretended = map[string]string{}
	}
	s.pretended[command] = result
}

func (s *Server) pretence(command string) (result string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, ok = s.pretended[command]
	return result, ok
}
