//go:build linux

package docker

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// box is one sandbox: its folder, its container with the guest, and the agent
// that talks to it.
type box struct {
	provider *Provider
	id       berth.SandboxID
	dir      string
	life     chan struct{} // taken by what makes, stops, starts or destroys it

	mu     sync.Mutex // guards all below
	meta   meta
	agent  *hostagent.Sandbox // nil until there is a folder
	guest  *guestProcess      // nil while none lives
	making *making            // nil unless it is being made
	detail string             // how far that is
	gone   bool               // destroyed
	// failed is why it could not be made; then there is nothing of it.
	failed   *berth.Reason
	failedAt time.Time
	// busy says that somebody who holds life ends the guest.
	busy bool
	// fault is why the agent itself ends the guest.
	fault string
	// away says that the engine was not there for a while since the present start;
	// it is known with TransportAttached only.
	away bool
	// fetches are the spools that have come, or come, since the end of the guest.
	fetches map[berth.CommandID]*fetch
}

func (p *Provider) newBox(id berth.SandboxID) *box {
	return &box{provider: p, id: id, dir: filepath.Join(p.config.Root, string(id)), life: make(chan struct{}, 1)}
}

func (b *box) socketDir() string { return filepath.Join(b.dir, "link") }

// lock takes life. Errors: unavailable when it does not come in time.
func (b *box) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case b.life <- struct{}{}:
		return func() { <-b.life }, nil
	default:
	}
	select {
	case b.life <- struct{}{}:
		return func() { <-b.life }, nil
	case <-ctx.Done():
		return nil, &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox is being made, stopped or started", Cause: ctx.Err()}
	}
}

// open makes the folder and the agent; life is held.
func (b *box) open(m meta) error {
	agent, err := hostagent.OpenSandbox(hostagent.SandboxConfig{
		SocketDir: b.socketDir(), SpoolDir: filepath.Join(b.dir, "spool"), Shared: true, NamesStarts: true,
		Logger: b.logger(), LostExit: b.lostExit, Oversize: b.oversize,
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta, b.agent = m, agent
	if m.attached() {
		b.provider.attaches.Store(true)
	}
	return nil
}

// record changes the record, on disk first. Whoever has life calls it, or the
// one watcher while nobody does.
func (b *box) record(change func(*meta)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.meta
	change(&m)
	if err := m.write(b.dir); err != nil {
		return err
	}
	b.meta = m
	return nil
}

func (b *box) present() meta {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.meta
}

func (b *box) setDetail(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detail = text
	if b.making != nil && strings.HasPrefix(text, "pulling ") {
		b.making.tellSlow()
	}
}

// letGo closes the agent and leaves the guest alone.
func (b *box) letGo() {
	b.mu.Lock()
	agent := b.agent
	b.mu.Unlock()
	if agent != nil {
		agent.Close()
	}
}

// state is what is known now; the engine is not asked.
func (b *box) state() berth.SandboxState {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.meta
	switch {
	case b.failed != nil:
		return berth.SandboxState{ID: b.id, Run: m.Run, Status: berth.SandboxFailed, Reason: b.failed, Workspace: Workspace, CreatedAt: m.CreatedAt}
	case b.making != nil && (b.agent == nil || m.Status == berth.SandboxDestroyed && b.making.active()): // to the end of its removal
		return berth.SandboxState{ID: b.id, Run: b.making.spec.Run, Status: berth.SandboxCreating, Workspace: Workspace, Detail: b.detail}
	case b.gone || b.agent == nil || m.Status == berth.SandboxDestroyed:
		return berth.SandboxState{ID: b.id, Status: berth.SandboxGone}
	}
	s := berth.SandboxState{
		ID: b.id, Run: m.Run, Status: m.Status, Ref: m.Container, Workspace: Workspace, Reason: m.Reason, Hint: hint(m, b.provider.engine.host), CreatedAt: m.CreatedAt,
	}
	switch {
	case s.Status == berth.SandboxCreating:
		s.Detail, s.Hint = b.detail, ""
	case s.Status == berth.SandboxReady && b.guest == nil: // and the watcher finds out why
		s.Status, s.Reason = berth.SandboxFailed, lostReason
	}
	return s
}

const toStartAgain = "Start the sandbox again, or make a new one; commands that ran in it are lost."

var lostReason = &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox's container has ended", Remediation: toStartAgain}

// logger is for this sandbox.
func (b *box) logger() *slog.Logger { return b.provider.config.Logger.With("sandbox", string(b.id)) }
