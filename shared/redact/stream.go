package redact

// Stream masks one stream. However its bytes are cut into writes, the result is
// the same. It is not safe for concurrent use.
type Stream struct {
	automaton *automaton
	held      []byte // what was written and not given out
	node      uint32 // state behind the last byte of held
	start     int    // where the text of node begins in held
	hidden    int    // bytes of held below it are masked, and that was given out
	spans     []span // matches in held at or behind hidden, in order, none overlapping
	out       []byte
}

type span struct{ from, to int }

// Write takes p and returns what is certain by now: it holds back only what may
// be the beginning of something to mask. The result is valid until the next call.
func (s *Stream) Write(p []byte) []byte {
	if s.automaton == nil {
		return p
	}
	from := len(s.held)
	s.held = append(s.held, p...)
	s.scan(from)
	return s.release(s.start)
}

// Flush returns all that is left at the end of the stream.
func (s *Stream) Flush() []byte {
	if s.automaton == nil {
		return nil
	}
	s.node = 0
	return s.release(len(s.held))
}

// scan moves over held[i:].
func (s *Stream) scan(i int) {
	a, held, node := s.automaton, s.held, s.node
	for i < len(held) {
		if node < a.hot {
			rows, hot := a.rows, a.hot
			for i < len(held) {
				node = rows[node<<8|uint32(held[i])]
				i++
				if node >= hot {
					break
				}
			}
			s.start = i - int(a.depth[node])
			if node < hot {
				break
			}
		} else {
			depth := a.depth[node]
			to := a.next(node, held[i])
			i++
			switch {
			case to < a.hot:
				s.start = i - int(a.depth[to])
			case to != node || a.sym[to] != ' ' || !isSpace(held[i-1]):
				s.start = s.skip(s.start, int(depth)+1-int(a.depth[to]))
			}
			node = to
		}
		if n := a.out[node]; n > 0 {
			s.mark(s.skip(s.start, int(a.depth[node]-n)), i)
		}
		for node >= a.hot && a.child[node] == 0 {
			depth := a.depth[node]
			node = a.fail[node]
			s.start = s.skip(s.start, int(depth-a.depth[node]))
		}
		if i-s.start > maxHeld {
			node, s.start = 0, i
		}
	}
	s.node = node
}

// skip moves n symbols on from held[i]; a run of whitespace is one symbol.
func (s *Stream) skip(i, n int) int {
	for ; n > 0; n-- {
		if !isSpace(s.held[i]) {
			i++
			continue
		}
		for i < len(s.held) && isSpace(s.held[i]) {
			i++
		}
	}
	return i
}

// mark notes a match that ends at to, where no earlier one ended later.
func (s *Stream) mark(from, to int) {
	if to-from < MinBytes {
		return // only a loose match of a value that is mostly whitespace
	}
	for n := len(s.spans); n > 0 && s.spans[n-1].to > from; n-- {
		from = min(from, s.spans[n-1].from)
		s.spans = s.spans[:n-1]
	}
	if from < s.hidden {
		s.hidden = to
		return
	}
	s.spans = append(s.spans, span{from, to})
}

// release gives out held[:n] and keeps the rest.
func (s *Stream) release(n int) []byte {
	s.out = s.out[:0]
	at := min(s.hidden, n)
	for len(s.spans) > 0 && s.spans[0].from < n {
		m := s.spans[0]
		s.spans = s.spans[1:]
		s.out = append(s.out, s.held[at:m.from]...)
		s.out = append(s.out, Replacement...)
		s.hidden = m.to
		at = min(m.to, n)
	}
	s.out = append(s.out, s.held[at:n]...)
	s.held = s.held[:copy(s.held, s.held[n:])]
	s.hidden = max(0, s.hidden-n)
	s.start -= n
	if s.start < 0 {
		s.start = 0
	}
	for i := range s.spans {
		s.spans[i] = span{s.spans[i].from - n, s.spans[i].to - n}
	}
	return s.out
}
