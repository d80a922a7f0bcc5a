package ssh

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// Provider makes sandboxes on SSH hosts. It keeps nothing but connections: any
// number of servers may work with the same sandboxes. It is safe for concurrent
// use.
type Provider struct {
	config Config
	guest  relay.Guest
	guests *relay.Sandboxes
	plain  plain.Sandboxes // on hosts that hold no guest

	mu     sync.Mutex // guards all below
	shells map[host]Shell
	hosts  map[berth.SandboxID]host // where sandboxes were made or found
}

var (
	_ berth.Provider     = (*Provider)(nil)
	_ berth.ShellOpener  = (*Provider)(nil)
	_ berth.PartStreamer = (*Provider)(nil)
	_ berth.Previewer    = (*Provider)(nil)
)

// New makes no connection yet.
func New(config Config) *Provider {
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Provider{
		config: config, guest: relay.Guest{Binary: config.Guest, Installation: config.Installation},
		shells: map[host]Shell{}, hosts: map[berth.SandboxID]host{},
	}
	p.guests = relay.New(relay.Config{Dial: p.dial, Streams: true, Clock: config.Clock})
	p.plain = plain.Sandboxes{Installation: config.Installation, Shell: func(ctx context.Context, ref berth.SandboxRef) (relay.Shell, error) {
		h, err := p.find(ctx, ref)
		if err != nil {
			return nil, err
		}
		return p.shell(ctx, h)
	}}
	return p
}

// Close ends the connections. Sandboxes go on.
func (p *Provider) Close() error {
	err := p.guests.Close()
	p.mu.Lock()
	shells := p.shells
	p.shells = map[host]Shell{}
	p.mu.Unlock()
	for _, sh := range shells {
		err = errors.Join(err, sh.Close())
	}
	return err
}

// Kind is ssh.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderSSH }

// shell is the connection to h.
func (p *Provider) shell(ctx context.Context, h host) (Shell, error) {
	key := h.connection()
	p.mu.Lock()
	defer p.mu.Unlock()
	if sh := p.shells[key]; sh != nil {
		return sh, nil
	}
	sh, err := p.config.Connect(ctx, h.destination, h.configFile)
	if err != nil {
		return nil, err
	}
	p.shells[key] = sh
	return sh, nil
}

func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error) {
	h, err := p.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	sh, err := p.shell(ctx, h)
	if err != nil {
		return nil, err
	}
	return p.guest.Dial(ctx, sh, ref.ID, create)
}

// find says where a sandbox is: by its Ref, or by its record when the server
// died before it had one.
func (p *Provider) find(ctx context.Context, ref berth.SandboxRef) (host, error) {
	if ref.Ref != "" {
		return parseRef(ref.Ref)
	}
	p.mu.Lock()
	h, found := p.hosts[ref.ID]
	p.mu.Unlock()
	if found {
		return h, nil
	}
	records, err := p.records(ctx)
	if err != nil {
		return host{}, err
	}
	for _, r := range records {
		if r.ID == ref.ID && r.Options.Destination != "" {
			return hostOf(r.Options), nil
		}
	}
	return host{}, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
}

func (p *Provider) records(ctx context.Context) ([]Record, error) {
	if p.config.Records == nil {
		return nil, nil
	}
	return p.config.Records(ctx)
}

func (p *Provider) remember(id berth.SandboxID, h host) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[id] = h
}

func (p *Provider) forget(id berth.SandboxID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hosts, id)
}
