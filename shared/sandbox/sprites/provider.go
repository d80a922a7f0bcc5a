package sprites

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// Provider makes sandboxes of sprites. It is safe for concurrent use, and keeps
// nothing that another process would need.
type Provider struct {
	*relay.Sandboxes
	config Config
	api    *spritesapi.Client

	work sync.WaitGroup // of makings

	mu      sync.Mutex // guards all below
	turns   map[berth.SandboxID]*turn
	makings map[berth.SandboxID]*making
	over    bool
}

// turn lets one caller at a time change a sandbox.
type turn struct {
	taken chan struct{}
	users int // guarded by Provider.mu
}

var (
	_ berth.Provider    = (*Provider)(nil)
	_ berth.Snapshotter = (*Provider)(nil)
	_ berth.Previewer   = (*Provider)(nil)
	_ berth.Streamer    = (*Provider)(nil)
)

// New makes no request yet. Error: invalid.
func New(config Config) (*Provider, error) {
	config.setDefaults()
	if config.Installation == "" || config.Guest == nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the provider sprites needs an installation and a guest")
	}
	if strings.Contains(string(config.Installation), ".") {
		return nil, berth.Errorf(berth.CodeInvalid, "an installation has no dot in its id")
	}
	api, err := spritesapi.New(spritesapi.Config{URL: config.URL, Token: config.Token, HTTP: config.HTTP, Clock: config.Clock, Pace: config.Pace})
	if err != nil {
		return nil, err
	}
	p := &Provider{config: config, api: api, turns: map[berth.SandboxID]*turn{}, makings: map[berth.SandboxID]*making{}}
	p.Sandboxes = relay.New(relay.Config{Dial: p.dial, Streams: true, Clock: config.Clock})
	return p, nil
}

// Close lets go of all connections. The sandboxes go on, and those that are being
// made are left for another process.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.over = true
	for _, m := range p.makings {
		m.cancel()
	}
	p.mu.Unlock()
	err := p.Sandboxes.Close()
	p.work.Wait()
	p.api.Close()
	return err
}

// Kind is sprites.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderSprites }

// take waits for the right to change a sandbox; give returns it.
func (p *Provider) take(ctx context.Context, id berth.SandboxID) (give func(), err error) {
	p.mu.Lock()
	t := p.turns[id]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		p.turns[id] = t
	}
	t.users++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(p.turns, id)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// absent is what a script ends with where the sandbox's folder has no guest.
const absent = 44

// dial starts a relay in the sprite, which connects to the sandbox's daemon.
func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error) {
	if !berth.IsULID(string(ref.ID)) {
		return nil, notFound()
	}
	script := folder(ref.ID) + `[ -x "$d/berth-guest" ] || exit ` + strconv.Itoa(absent) + `
exec "$d/berth-guest" relay -root "$d/root" -sandbox ` + berth.ShellQuote(string(ref.ID), "-installation", string(p.config.Installation)) + " -unfiltered"
	if create {
		script += " -create"
	}
	s, err := p.api.Open(ctx, p.nameOf(ref), spritesapi.Command{Argv: []string{bash, "-c", script}, Stdin: true, Lasts: p.config.Hold})
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil, notFound()
	}
	if err != nil {
		return nil, berth.Wrap(err, "connecting to sprite "+p.nameOf(ref))
	}
	rw, err := relay.Open(ctx, s, false)
	if err == nil {
		return rw, nil
	}
	code, exited := s.Exit()
	switch {
	case exited && code == absent:
		return nil, notFound()
	case exited && s.Stderr() != "":
		return nil, berth.Wrap(err, "in sprite "+p.nameOf(ref)+": "+s.Stderr())
	}
	return nil, berth.Wrap(err, "in sprite "+p.nameOf(ref))
}

const bash = "/bin/bash"

// folder is the head of a script: d is the sandbox's folder in the sprite.
func folder(id berth.SandboxID) string {
	return `d="${HOME:?}/.berth/` + string(id) + "\"\n"
}

func notFound() error { return berth.Errorf(berth.CodeNotFound, "the sandbox does not exist") }
