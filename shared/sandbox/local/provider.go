//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Provider makes local sandboxes. It is safe for concurrent use.
type Provider struct {
	hostagent.Sandboxes

	config  Config
	boot    string
	closed  chan struct{}
	closing sync.Once
	work    sync.WaitGroup
	boxes   hostagent.Register[*box]
}

var _ berth.Provider = (*Provider)(nil)

// New takes up the sandboxes that are recorded in the root folder: guests that
// live are connected again, and what others left is ended.
func New(config Config) (*Provider, error) {
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Logger == nil {
		config.Logger = hostagent.Silent{}
	}
	if config.Environ == nil {
		config.Environ = os.Environ()
	}
	root, err := filepath.Abs(config.Root)
	if err != nil {
		return nil, fmt.Errorf("opening the local provider: %w", err)
	}
	config.Root = root
	boot, err := hostagent.BootID()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, hostagent.DiskError("making the folder of local sandboxes", err)
	}
	if err := os.Chmod(root, 0o700); err != nil {
		return nil, fmt.Errorf("closing the folder of local sandboxes to others: %w", err)
	}
	p := &Provider{config: config, boot: boot, closed: make(chan struct{})}
	p.Sandboxes = hostagent.Sandboxes{Find: p.agent}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("reading the local sandboxes: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || !berth.IsULID(entry.Name()) {
			continue
		}
		if err := p.adopt(berth.SandboxID(entry.Name())); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Close lets go of the sandboxes, which go on without the server.
func (p *Provider) Close() error {
	p.closing.Do(func() { close(p.closed) })
	for _, b := range p.boxes.All() {
		b.letGo()
	}
	p.work.Wait()
	return nil
}

// Kind is local.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderLocal }

// List returns the sandboxes of this installation, oldest first.
func (p *Provider) List(context.Context) ([]berth.SandboxState, error) {
	var states []berth.SandboxState
	for _, b := range p.boxes.All() {
		if state := b.state(); state.Status != berth.SandboxGone {
			states = append(states, state)
		}
	}
	return states, nil
}

// adopt takes up one recorded sandbox.
func (p *Provider) adopt(id berth.SandboxID) error {
	dir := filepath.Join(p.config.Root, string(id))
	var m meta
	err := hostagent.ReadRecord(dir, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(dir) // the server died before it made anything
	}
	if errors.Is(err, hostagent.ErrTorn) {
		// All that ran is gone with the machine's power; what still runs ends with its folder.
		p.config.Logger.Warn("a sandbox is lost, as its record cannot be read", "sandbox", string(id), "error", err)
		return os.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	if m.Installation != p.config.Installation {
		return nil
	}
	b := p.boxes.Claim(id, p.newBox)
	b.life.Lock()
	defer b.life.Unlock()
	return b.adopt(m)
}
