package exe

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Provider makes VMs. It keeps nothing but connections: any number of servers
// may work with the same VMs. It is safe for concurrent use.
type Provider struct {
	*relay.Sandboxes

	config Config
	lobby  lobby
	guest  relay.Guest

	mu     sync.Mutex           // guards all below
	shells map[string]Shell     // by the sandbox's Ref
	asked  map[string]time.Time // when the lobby was asked last about a Ref that was not reached
	seen   map[string]sight     // of VMs, by name
}

// sight is when a VM was seen first, and whether that was when this provider made it.
type sight struct {
	at   time.Time
	made bool
}

var (
	_ berth.Provider    = (*Provider)(nil)
	_ berth.ShellOpener = (*Provider)(nil)
)

// New makes no connection yet.
func New(config Config) *Provider {
	config = config.withDefaults()
	p := &Provider{
		config: config, lobby: lobby{config.Lobby, config.CommandLimit, config.Clock},
		guest:  relay.Guest{Binary: config.Guest, Installation: config.Installation, Unfiltered: true},
		shells: map[string]Shell{}, asked: map[string]time.Time{}, seen: map[string]sight{},
	}
	p.Sandboxes = relay.New(relay.Config{Dial: p.dial, Streams: true, Clock: config.Clock})
	return p
}

// Close ends the connections, the lobby's too. VMs go on.
func (p *Provider) Close() error {
	err := errors.Join(p.Sandboxes.Close(), p.config.Lobby.Close())
	p.mu.Lock()
	shells := p.shells
	p.shells = map[string]Shell{}
	p.mu.Unlock()
	for _, sh := range shells {
		err = errors.Join(err, sh.Close())
	}
	return err
}

// Kind is exe.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderExe }

// dial reaches the daemon in a VM. One connection a VM is kept for all: many new
// ones from one address are dropped in silence.
func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error) {
	if ref.Ref == "" {
		v, err := p.find(ctx, ref.ID)
		if err != nil {
			return nil, err
		}
		ref.Ref = v.ref()
	}
	sh, err := p.shell(ctx, ref.Ref)
	if err != nil {
		return nil, err
	}
	rw, err := p.guest.Dial(ctx, sh, ref.ID, create)
	switch berth.CodeOf(err) {
	case berth.CodeUnavailable, berth.CodeInvalid, berth.CodeForbidden:
		// A VM that is gone is not reached either, and its name does not resolve.
		if p.mayAsk(ref.Ref) {
			if _, gone := p.find(ctx, ref.ID); berth.CodeOf(gone) == berth.CodeNotFound {
				return nil, gone
			}
		}
	}
	return rw, err
}

// askEvery is the time between two questions whether a VM that is not reached is
// still there: the lobby counts them.
const askEvery = 5 * time.Second

func (p *Provider) mayAsk(ref string) bool {
	now := p.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.asked[ref]) < askEvery {
		return false
	}
	p.asked[ref] = now
	return true
}

func (p *Provider) shell(ctx context.Context, ref string) (Shell, error) {
	destination, port, err := parseRef(ref)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if sh := p.shells[ref]; sh != nil {
		return sh, nil
	}
	sh, err := p.config.Connect(ctx, destination, port)
	if err != nil {
		return nil, err
	}
	p.shells[ref] = sh
	return sh, nil
}

// leave ends the connection to a VM that is gone.
func (p *Provider) leave(ref string) {
	p.mu.Lock()
	sh := p.shells[ref]
	delete(p.shells, ref)
	delete(p.asked, ref)
	p.mu.Unlock()
	if sh != nil {
		_ = sh.Close() // its other end is gone
	}
}

// find asks the lobby for the VM of a sandbox. Error: not_found.
func (p *Provider) find(ctx context.Context, id berth.SandboxID) (vm, error) {
	if !berth.IsULID(string(id)) {
		return vm{}, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	v, found, err := p.lobby.find(ctx, nameOf(id))
	if err == nil && (!found || !v.belongs(p.config.Installation)) {
		err = berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	return v, err
}

// OpenShell is the command line of OpenSSH, for as long as the VM lives.
func (p *Provider) OpenShell(ctx context.Context, ref berth.SandboxRef, _ time.Duration) (string, error) {
	state, err := p.Describe(ctx, ref)
	switch {
	case err != nil:
		return "", err
	case state.Status == berth.SandboxGone:
		return "", berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	case state.Hint == "":
		return "", berth.Errorf(berth.CodeConflict, "the VM does not answer yet")
	}
	return state.Hint, nil
}

// hint is the command line that gets a person in.
func hint(ref, workspace string) string {
	destination, port, err := parseRef(ref)
	if err != nil {
		return ""
	}
	words := []string{"ssh", "-t"}
	if port != "22" {
		words = append(words, "-p", port)
	}
	return berth.ShellQuote(append(words, destination, "cd "+berth.ShellQuote(workspace)+" && exec bash -i")...)
}
