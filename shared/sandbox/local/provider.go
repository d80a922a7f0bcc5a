//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Provider makes local sandboxes. It is safe for concurrent use.
type Provider struct {
	hostagent.Sandboxes

	config Config
	boot   string
	closed chan struct{}
	work   sync.WaitGroup

	mu    sync.Mutex // guards boxes
	boxes map[berth.SandboxID]*box
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
	p := &Provider{config: config, boot: boot, closed: make(chan struct{}), boxes: map[berth.SandboxID]*box{}}
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
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	boxes := p.all()
	p.mu.Unlock()
	for _, b := range boxes {
		b.letGo()
	}
	p.work.Wait()
	return nil
}

// Kind is local.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderLocal }

// List returns the sandboxes of this installation, oldest first.
func (p *Provider) List(context.Context) ([]berth.SandboxState, error) {
	p.mu.Lock()
	boxes := p.all()
	p.mu.Unlock()
	var states []berth.SandboxState
	for _, b := range boxes {
		if state := b.state(); state.Status != berth.SandboxGone {
			states = append(states, state)
		}
	}
	return states, nil
}

// all is in the order of ids; p.mu is held.
func (p *Provider) all() []*box {
	boxes := make([]*box, 0, len(p.boxes))
	for _, b := range p.boxes {
		boxes = append(boxes, b)
	}
	sort.Slice(boxes, func(i, j int) bool { return boxes[i].id < boxes[j].id })
	return boxes
}

// find returns the sandbox, not_found when there is none.
func (p *Provider) find(id berth.SandboxID) (*box, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[id]
	if b == nil {
		return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	return b, nil
}

// claim returns the sandbox, and makes an empty one when there is none.
func (p *Provider) claim(id berth.SandboxID) *box {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[id]
	if b == nil {
		b = p.newBox(id)
		p.boxes[id] = b
	}
	return b
}

func (p *Provider) forget(b *box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes[b.id] == b {
		delete(p.boxes, b.id)
	}
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
	b := p.claim(id)
	b.life.Lock()
	defer b.life.Unlock()
	return b.adopt(m)
}
