package sandboxtest

import (
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/tunnel"
)

// shell is a person at a shell in the sandbox.
type shell struct {
	t      testing.TB
	stream io.ReadWriteCloser
	out    *channel.Writer

	mu      sync.Mutex // guards all below
	shown   string
	exit    *berth.Exit
	changed chan struct{}
	over    bool
}

// open opens a stream, with a ticket of the agent's where the provider has one.
func (s *sandbox) open(t testing.TB, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	t.Helper()
	if streamer, ok := s.Provider.(berth.Streamer); ok {
		return streamer.OpenStream(ctx(t), ref, spec)
	}
	ticket, err := s.Provider.(berth.Ticketer).IssueTicket(ctx(t), ref, spec, 0)
	if err != nil {
		return nil, err
	}
	return tunnel.Dial(ctx(t), ticket)
}

// shell opens one.
func (s *sandbox) shell(t testing.TB, spec berth.StreamSpec) *shell {
	t.Helper()
	spec.Kind = berth.StreamShell
	// Without the machine's own start-up files and history.
	env := map[string]string{"HOME": "/nonexistent"}
	maps.Copy(env, spec.Env)
	spec.Env = env
	stream, err := s.open(t, s.ref, spec)
	if err != nil {
		t.Fatalf("OpenStream: %v", err)
	}
	p := &shell{t: t, stream: stream, out: channel.NewWriter(stream), changed: make(chan struct{}, 1)}
	t.Cleanup(func() { stream.Close() })
	go p.watch()
	return p
}

func (p *shell) watch() {
	for in := channel.NewReader(p.stream); ; {
		f, err := in.Next()
		p.mu.Lock()
		switch exit, ok := f.Exit(); {
		case err != nil:
			p.over = true
		case ok:
			p.exit = &exit
		case f.Kind == channel.Data:
			p.shown += string(f.Payload)
		}
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (p *shell) typed(text string) {
	p.t.Helper()
	if _, err := p.out.Write([]byte(text)); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.t.Fatalf("typing %q: %v; the exit is %+v, and the terminal shows\n%q", text, err, p.exit, p.shown)
	}
}

func (p *shell) wait(what string, is func() bool) {
	p.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		p.mu.Lock()
		found, shown := is(), p.shown
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-p.changed:
		case <-timer.C:
			p.t.Fatalf("waited in vain: %s; the terminal shows\n%q", what, shown)
		}
	}
}

// until waits until the terminal shows something.
func (p *shell) until(text string) {
	p.t.Helper()
	p.wait("the terminal shows "+text, func() bool { return strings.Contains(p.shown, text) })
}

// ended waits for the end of the stream and of what it said the shell ended with.
func (p *shell) ended() *berth.Exit {
	p.t.Helper()
	p.wait("the stream ends", func() bool { return p.over })
	return p.exit
}
