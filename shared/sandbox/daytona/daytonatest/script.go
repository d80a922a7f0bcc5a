//go:build linux

package daytonatest

import "time"

// step is a state that something has from a time on.
type step struct {
	at    time.Time
	state string
}

// stateAt is the last step that has come.
func stateAt(steps []step, now time.Time) string {
	state := ""
	for _, s := range steps {
		if !s.at.After(now) {
			state = s.state
		}
	}
	return state
}

// Script says what becomes of the next sandbox or snapshot that is created: it
// goes through States, each for as long as a start or a build takes, and stays in
// the last.
type Script struct {
	States      []string
	Reason      string
	Recoverable bool
	// NoRunners refuses the creation so often.
	NoRunners int
}

// scripts are those that wait for something to be created.
type scripts struct {
	sandboxes, snapshots []Script
}

// ScriptSandbox is for sandboxes that are created from now on, one each.
func (s *Server) ScriptSandbox(all ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.sandboxes = append(s.scripts.sandboxes, all...)
}

// ScriptSnapshot is for snapshots that are created from now on, one each.
func (s *Server) ScriptSnapshot(all ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.snapshots = append(s.scripts.snapshots, all...)
}

func next(queue *[]Script) (Script, bool) {
	if len(*queue) == 0 {
		return Script{}, false
	}
	first := (*queue)[0]
	if first.NoRunners > 0 {
		(*queue)[0].NoRunners--
		return first, true
	}
	*queue = (*queue)[1:]
	return first, true
}

// stepsOf spreads states over time, each for as long as each takes.
func stepsOf(states []string, from time.Time, each time.Duration) []step {
	var steps []step
	for i, state := range states {
		steps = append(steps, step{from.Add(time.Duration(i) * each), state})
	}
	return steps
}

// ClearScripts forgets those that nothing was created for.
func (s *Server) ClearScripts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = scripts{}
}
