package sandboxtest

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
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

// shell opens one without a prompt, so that only commands and answers show.
func (s *sandbox) shell(t testing.TB, spec berth.StreamSpec) *shell {
	t.Helper()
	spec.Kind = berth.StreamShell
	if spec.Env == nil {
		spec.Env = map[string]string{}
	}
	stream, err := s.Provider.(berth.Streamer).OpenStream(ctx(t), s.ref, spec)
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
		p.t.Fatalf("typing %q: %v", text, err)
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
