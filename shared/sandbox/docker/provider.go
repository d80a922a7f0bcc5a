//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
	"github.com/berth-dev/berth/shared/relay"
)

// Provider makes sandboxes in containers. It is safe for concurrent use.
type Provider struct {
	near       hostagent.Sandboxes // whose agent is this process
	far        *relay.Sandboxes    // whose guest is its own
	choosing   chan struct{}       // taken by who uses chosen
	chosen     *chosen
	scratching sync.Mutex  // held while the image of the guest is needed
	attaches   atomic.Bool // there are sandboxes with TransportAttached, or may be
	config     Config
	engine     *engine
	boot       string
	guarded    []string // that no mount may reach
	work       sync.WaitGroup
	closed     chan struct{}
	closing    sync.Once
	boxes      hostagent.Register[*box]
}

var _ berth.Provider = (*Provider)(nil)

// New connects to the engine and takes up the sandboxes that are recorded in the
// root folder: guests that live are connected again. Errors: unavailable when the
// engine does not answer, unless there are sandboxes to take up: those need it
// only to be made, stopped and started.
func New(config Config) (*Provider, error) {
	config.setDefaults()
	if config.Installation == "" || config.Guest == nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the provider docker needs an installation and a guest")
	}
	e, err := openEngine(config)
	if err != nil {
		return nil, err
	}
	p := &Provider{config: config, engine: e, choosing: make(chan struct{}, 1), closed: make(chan struct{})}
	p.near = hostagent.Sandboxes{Find: p.agent}
	p.far = relay.New(relay.Config{Dial: p.dial, Streams: true, DialStream: p.dialStream, Clock: config.Clock})
	p.attaches.Store(config.Transport == TransportAttached)
	if err := p.openRoot(); err != nil {
		return nil, err
	}
	recorded, err := p.recorded()
	if err != nil {
		return nil, err
	}
	pingErr := e.ping(context.Background())
	if pingErr != nil {
		if len(recorded) == 0 {
			e.api.Close()
			return nil, pingErr
		}
		p.config.Logger.Warn("the Docker engine does not answer; sandboxes that run go on", "error", pingErr)
	}
	if err := p.adoptAll(recorded, pingErr == nil); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if pingErr == nil {
		p.chooseEarly()
	}
	return p, nil
}

func (p *Provider) openRoot() (err error) {
	root, err := filepath.Abs(p.config.Root)
	if err != nil {
		return fmt.Errorf("opening the docker provider: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return hostagent.DiskError("making the folder of docker sandboxes", err)
	}
	if err := os.Chmod(root, 0o700); err != nil {
		return fmt.Errorf("closing the folder of docker sandboxes to others: %w", err)
	}
	if p.config.Root, err = filepath.EvalSymlinks(root); err != nil {
		return fmt.Errorf("opening the docker provider: %w", err)
	}
	own := []string{p.config.Root, "/run/docker.sock", "/run/containerd/containerd.sock"}
	if p.engine.socket != "" {
		own = append(own, p.engine.socket)
	}
	for _, path := range append(own, p.config.Guarded...) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		p.guarded = append(p.guarded, path)
	}
	p.boot, err = hostagent.BootID()
	return err
}

// recorded are the sandboxes of this installation in the root folder. What an
// earlier server had not begun to use is removed.
func (p *Provider) recorded() ([]meta, error) {
	entries, err := os.ReadDir(p.config.Root)
	if err != nil {
		return nil, fmt.Errorf("reading the docker sandboxes: %w", err)
	}
	var all []meta
	for _, entry := range entries {
		dir := filepath.Join(p.config.Root, entry.Name())
		if strings.HasPrefix(entry.Name(), probePrefix) { // of a server that died meanwhile
			if err := os.RemoveAll(dir); err != nil {
				return nil, fmt.Errorf("removing a probe: %w", err)
			}
		}
		if !entry.IsDir() || !berth.IsULID(entry.Name()) {
			continue
		}
		var m meta
		err := hostagent.ReadRecord(dir, &m)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.RemoveAll(dir); err != nil {
				return nil, fmt.Errorf("removing a sandbox that was not made: %w", err)
			}
		case errors.Is(err, hostagent.ErrTorn):
			// All that ran is gone with the machine's power. The container is still
			// listed, as one without a record, and swept.
			p.config.Logger.Warn("a sandbox is lost, as its record cannot be read", "sandbox", entry.Name(), "error", err)
			if err := os.RemoveAll(dir); err != nil {
				return nil, fmt.Errorf("removing a torn record: %w", err)
			}
		case err != nil:
			return nil, err
		case m.Installation == p.config.Installation:
			all = append(all, m)
		}
	}
	return all, nil
}

// adoptAll takes up recorded sandboxes, several at a time: those that ended
// meanwhile need the engine's word.
func (p *Provider) adoptAll(recorded []meta, engineAnswers bool) error {
	slots := make(chan struct{}, 8)
	errs := make(chan error, len(recorded))
	for _, m := range recorded {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			errs <- p.boxes.Claim(m.ID, p.newBox).adopt(m, engineAnswers)
		}()
	}
	var all []error
	for range recorded {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// Close lets go of the sandboxes, which go on without the server.
func (p *Provider) Close() error {
	p.closing.Do(func() { close(p.closed) })
	for _, b := range p.boxes.All() {
		b.letGo()
	}
	err := p.far.Close()
	p.work.Wait()
	return errors.Join(err, p.engine.api.Close())
}

// untilClosed makes a context of work that nobody waits for: it ends with the
// provider, or by cancel.
func (p *Provider) untilClosed() (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		select {
		case <-p.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (p *Provider) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Kind is docker.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderDocker }

// agent finds what answers for a sandbox. One that was only just claimed has
// nothing yet.
func (p *Provider) agent(ref berth.SandboxRef) (*hostagent.Sandbox, error) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil || b.gone {
		return nil, hostagent.ErrNoSandbox
	}
	return b.agent, nil
}

// failedFor is how long it is remembered why a sandbox could not be made.
const failedFor = time.Hour

// purge forgets failures that nobody will ask for any more.
func (p *Provider) purge() {
	now := p.config.Clock.Now()
	p.boxes.Purge(func(b *box) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.failed != nil && now.Sub(b.failedAt) > failedFor
	})
}
