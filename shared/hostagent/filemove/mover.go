// Package filemove moves files between signed URLs and sandboxes, on the host
// that has the sandbox.
package filemove

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	maxKnown   = 256 // moves, those that have ended included
	maxRunning = 4   // moves at a time; the others wait for their turn
)

// Config is what a Mover needs; all may be left empty.
type Config struct {
	// Client fetches signed URLs; it must follow no redirect. One that trusts the
	// system's authorities is made when nil.
	Client *http.Client
	Clock  berth.Clock
	Logger *slog.Logger
}

// Mover has the moves of one agent, in memory alone: a move dies with the agent
// and is started again by who wants it. It is safe for concurrent use.
type Mover struct {
	config Config
	slots  chan struct{}
	work   sync.WaitGroup
	base   context.Context // of moves
	stop   context.CancelFunc

	mu     sync.Mutex // guards what follows, and the fields of moves that say so
	moves  map[key]*move
	closed bool
}

// key names a move: ids are the callers'.
type key struct {
	kind    berth.ProviderKind
	sandbox berth.SandboxID
	id      string
}

// move is one file on its way, or what became of it.
type move struct {
	spec     berth.Move
	provider berth.Provider
	ref      berth.SandboxRef

	state   berth.MoveState // guarded by Mover.mu
	changed time.Time       // guarded by Mover.mu
}

// New makes a Mover. Close it.
func New(config Config) *Mover {
	if config.Client == nil {
		config.Client = newClient()
	}
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Mover{config: config, slots: make(chan struct{}, maxRunning), moves: map[key]*move{}}
	m.base, m.stop = context.WithCancel(context.Background())
	return m
}

// Close breaks off what is on its way and waits for it. Files that were not
// whole are not there.
func (m *Mover) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
	m.config.Client.CloseIdleConnections()
}

// Start begins to move a file, as berth.Mover says.
func (m *Mover) Start(provider berth.Provider, ref berth.SandboxRef, spec berth.Move) error {
	if err := check(spec); err != nil {
		return err
	}
	k := key{provider.Kind(), ref.ID, spec.ID}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return berth.Errorf(berth.CodeUnavailable, "the host agent is ending")
	}
	if was := m.moves[k]; was != nil && was.state.Status != berth.TransferFailed {
		if !same(was.spec, spec) {
			return berth.FieldErrorf(berth.CodeConflict, "id", "the id has been used for another move")
		}
		return nil
	}
	if m.moves[k] == nil && len(m.moves) >= maxKnown && !m.evict() {
		return &berth.Error{
			Code: berth.CodeRateLimited, Message: "the host agent has all the files on the move that it takes at a time",
			Remediation: "Commit the transfer again when others have ended.",
		}
	}
	v := &move{spec: spec, provider: provider, ref: ref, changed: m.config.Clock.Now()}
	v.state.Status = berth.TransferMoving
	m.moves[k] = v
	m.work.Go(func() { m.run(v) })
	return nil
}

// same compares all but the URLs: those of one move differ by when they were signed.
func same(a, b berth.Move) bool {
	a.URL, b.URL = "", ""
	return a == b
}

// evict forgets the move that ended first; false when none has ended.
func (m *Mover) evict() bool {
	var oldest key
	var at time.Time
	found := false
	for k, v := range m.moves {
		if v.state.Status != berth.TransferMoving && (!found || v.changed.Before(at)) {
			oldest, at, found = k, v.changed, true
		}
	}
	delete(m.moves, oldest)
	return found
}

// Describe says how far a move is. Error: not_found.
func (m *Mover) Describe(kind berth.ProviderKind, sandbox berth.SandboxID, id string) (berth.MoveState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.moves[key{kind, sandbox, id}]
	if v == nil {
		return berth.MoveState{}, berth.Errorf(berth.CodeNotFound, "the host agent knows nothing of such a move")
	}
	return v.state, nil
}
