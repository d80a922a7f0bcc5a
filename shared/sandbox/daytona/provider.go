package daytona

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
	"github.com/berth-dev/berth/shared/version"
)

// Provider makes sandboxes with one Daytona account. It is safe for concurrent
// use.
type Provider struct {
	*relay.Sandboxes       // commands and files of guests
	plain            Plain // of sandboxes without one; may be nil
	config           Config
	client           *daytonaapi.Client
	work             sync.WaitGroup
	closed           chan struct{}

	ending sync.Mutex // guards over; may be taken with a box's mu held
	over   bool       // nothing new is begun

	mu    sync.Mutex // guards boxes; taken before a box's own
	boxes map[berth.SandboxID]*box
}

// New does not connect. Errors: invalid.
func New(config Config) (*Provider, error) {
	config.setDefaults()
	if config.Installation == "" || config.Guest == nil || config.Key == nil || config.Scope == nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the provider daytona needs an installation, a guest, a key and a scope")
	}
	client, err := daytonaapi.New(daytonaapi.Config{
		URL: config.URL, Key: config.Key, UserAgent: "berth/" + version.Version, Transport: config.Transport,
		Patience: config.Pace.Patience, FirstPause: config.Pace.FirstPause, Clock: config.Clock,
	})
	if err != nil {
		return nil, berth.Wrap(err, "opening the provider daytona")
	}
	p := &Provider{config: config, client: client, closed: make(chan struct{}), boxes: map[berth.SandboxID]*box{}}
	p.Sandboxes = relay.New(relay.Config{Dial: p.dial, Streams: true, Patience: config.Pace.Relay, Clock: config.Clock})
	if config.Plain != nil {
		p.plain = config.Plain(p.shellOf)
	}
	return p, nil
}

var _ berth.Provider = (*Provider)(nil)

// Kind is daytona.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderDaytona }

// Close lets go of the sandboxes, which go on.
func (p *Provider) Close() error {
	err := p.Sandboxes.Close() // whose streams end their sessions
	p.ending.Lock()
	if !p.over {
		p.over = true
		close(p.closed)
	}
	p.ending.Unlock()
	p.work.Wait()
	p.client.Close()
	return err
}

// spawn does f in the background, unless the provider is closed.
func (p *Provider) spawn(f func()) bool {
	p.ending.Lock()
	defer p.ending.Unlock()
	if !p.over {
		p.work.Go(f)
	}
	return !p.over
}

// untilClosed makes a context of work that nobody waits for: it ends with the
// provider, or by cancel.
func (p *Provider) untilClosed() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-p.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// box is what this process remembers of a sandbox. Nothing of it is needed to
// find the sandbox again.
type box struct {
	mu     sync.Mutex // guards all below
	making *making
	failed *berth.Reason
	ending int  // calls of Destroy at work: nothing is made meanwhile
	gone   bool // destroyed by this process: Daytona's answers may lag behind
	live   *live

	used        time.Time // when it was asked for last
	touched     time.Time // when the auto-stop was put off last
	silentSince time.Time // when the sandbox was found not to answer
	silentLast  time.Time // and when again
}

// live is a sandbox that is ready, as far as this process knows.
type live struct {
	sandbox   daytonaapi.Sandbox
	workspace string
	guest     string // part of its program's name
	toolbox   *daytonaapi.Toolbox
}

// rememberedFor is how long something is remembered that nobody asks for.
const rememberedFor = time.Hour

// box returns what is remembered of id, and begins to remember.
func (p *Provider) box(id berth.SandboxID) *box {
	now := p.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, b := range p.boxes {
		b.mu.Lock()
		if idle := now.Sub(b.used); idle > rememberedFor && (b.making == nil || !b.making.active()) {
			delete(p.boxes, other)
		}
		b.mu.Unlock()
	}
	b := p.boxes[id]
	if b == nil {
		b = &box{}
		p.boxes[id] = b
	}
	b.mu.Lock()
	b.used = now
	b.mu.Unlock()
	return b
}

// present reads what a box says without asking Daytona; false when it must be asked.
func (b *box) present(id berth.SandboxID) (berth.SandboxState, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.gone:
		return berth.SandboxState{ID: id, Status: berth.SandboxGone}, true
	case b.failed != nil:
		return berth.SandboxState{ID: id, Status: berth.SandboxFailed, Reason: b.failed}, true
	case b.making != nil && b.making.active():
		return b.making.state(id), true
	}
	return berth.SandboxState{}, false
}

func (b *box) setLive(l *live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live = l
}

func (b *box) liveNow() *live {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live
}

// leave ends what this process has open of a sandbox.
func (b *box) leave() { b.setLive(nil) }
