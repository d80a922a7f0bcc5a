package runnertest

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Provider keeps sandboxes in memory. It lives longer than the server under
// test, as real sandboxes do. Programs run its commands; without one of that
// name the command exits with 127. Its sandboxes have no files: the runner touches none.
type Provider struct {
	berth.Files

	// Programs are found by the first word of a command, or by the whole script.
	Programs map[string]Program
	// Provisioned may change what a new sandbox looks like, also to failed or creating.
	Provisioned func(spec berth.SandboxSpec, calls int, state *berth.SandboxState)

	mu        sync.Mutex // guards all below
	sandboxes map[berth.SandboxID]*sandbox
	failures  map[string][]error
	specs     []berth.SandboxSpec
	calls     map[string]int
	armed     []Armed
}

type sandbox struct {
	state    berth.SandboxState
	calls    int
	commands map[berth.CommandID]*process
}

// Armed is one call of Arm.
type Armed struct {
	Sandbox berth.SandboxID
	Command berth.CommandID
	Offset  int64
}

var _ berth.Provider = (*Provider)(nil)

// NewProvider makes an empty provider that knows the programs of this package.
func NewProvider() *Provider {
	return &Provider{
		Programs: programs(), sandboxes: map[berth.SandboxID]*sandbox{},
		failures: map[string][]error{}, calls: map[string]int{},
	}
}

// Kind is local: what these sandboxes are most like.
func (p *Provider) Kind() berth.ProviderKind { return berth.ProviderLocal }

// Fail lets the next call of a method fail, once for each error; nil lets one through.
func (p *Provider) Fail(method string, errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures[method] = append(p.failures[method], errs...)
}

// Calls returns how often a method was called, failed or not.
func (p *Provider) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// called counts a call and returns the failure that was ordered for it. p.mu is held.
func (p *Provider) called(method string) error {
	p.calls[method]++
	queue := p.failures[method]
	if len(queue) == 0 {
		return nil
	}
	p.failures[method] = queue[1:]
	return queue[0]
}

// Provision makes the sandbox or returns the one that is there.
func (p *Provider) Provision(_ context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Provision"); err != nil {
		return berth.SandboxState{}, err
	}
	p.specs = append(p.specs, spec)
	sb := p.sandboxes[spec.ID]
	if sb == nil {
		sb = &sandbox{commands: map[berth.CommandID]*process{}, state: berth.SandboxState{
			ID: spec.ID, Run: spec.Run, Status: berth.SandboxReady, Ref: "ref-" + string(spec.ID), Workspace: "/workspace",
		}}
		p.sandboxes[spec.ID] = sb
	}
	p.settle(spec, sb)
	if sb.state.Status == berth.SandboxFailed {
		delete(p.sandboxes, spec.ID)
	}
	return sb.state, nil
}

func (p *Provider) settle(spec berth.SandboxSpec, sb *sandbox) {
	if p.Provisioned == nil {
		return
	}
	sb.calls++
	p.Provisioned(spec, sb.calls, &sb.state)
}

// Specs returns what Provision was asked for.
func (p *Provider) Specs() []berth.SandboxSpec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]berth.SandboxSpec{}, p.specs...)
}

// Describe returns status gone for what is not there.
func (p *Provider) Describe(_ context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Describe"); err != nil {
		return berth.SandboxState{}, err
	}
	sb := p.sandboxes[ref.ID]
	if sb == nil {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	if sb.state.Status == berth.SandboxCreating {
		p.settle(berth.SandboxSpec{ID: ref.ID, Run: sb.state.Run}, sb)
	}
	return sb.state, nil
}

// Stop ends all commands and keeps the sandbox.
func (p *Provider) Stop(_ context.Context, ref berth.SandboxRef) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Stop"); err != nil {
		return err
	}
	sb, err := p.find(ref.ID)
	if err != nil {
		return err
	}
	sb.state.Status = berth.SandboxStopped
	sb.endAll()
	return nil
}

// Start makes a stopped sandbox ready.
func (p *Provider) Start(_ context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Start"); err != nil {
		return berth.SandboxState{}, err
	}
	sb, err := p.find(ref.ID)
	if err != nil {
		return berth.SandboxState{}, err
	}
	sb.state.Status = berth.SandboxReady
	return sb.state, nil
}

// Destroy removes the sandbox with all in it.
func (p *Provider) Destroy(_ context.Context, ref berth.SandboxRef) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Destroy"); err != nil {
		return err
	}
	p.remove(ref.ID)
	return nil
}

// Vanish takes a sandbox away behind everybody's back.
func (p *Provider) Vanish(id berth.SandboxID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(id)
}

// Appear puts a ready sandbox there that nobody asked for.
func (p *Provider) Appear(id berth.SandboxID, run berth.RunID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sandboxes[id] = &sandbox{
		commands: map[berth.CommandID]*process{},
		state:    berth.SandboxState{ID: id, Run: run, Status: berth.SandboxReady, Workspace: "/workspace"},
	}
}

func (p *Provider) remove(id berth.SandboxID) {
	if sb := p.sandboxes[id]; sb != nil {
		sb.endAll()
		delete(p.sandboxes, id)
	}
}

func (sb *sandbox) endAll() {
	for _, c := range sb.commands {
		c.vanish()
	}
}

// List returns every sandbox.
func (p *Provider) List(context.Context) ([]berth.SandboxState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("List"); err != nil {
		return nil, err
	}
	var out []berth.SandboxState
	for _, sb := range p.sandboxes {
		out = append(out, sb.state)
	}
	return out, nil
}

// Status is what a sandbox is; gone when it is not there.
func (p *Provider) Status(id berth.SandboxID) berth.SandboxStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sb := p.sandboxes[id]; sb != nil {
		return sb.state.Status
	}
	return berth.SandboxGone
}

// Arm records that somebody wants to be nudged.
func (p *Provider) Arm(_ context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("Arm"); err != nil {
		return err
	}
	p.armed = append(p.armed, Armed{ref.ID, id, offset})
	return nil
}

// Armings returns the calls of Arm.
func (p *Provider) Armings() []Armed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Armed{}, p.armed...)
}

func (p *Provider) find(id berth.SandboxID) (*sandbox, error) {
	if sb := p.sandboxes[id]; sb != nil {
		return sb, nil
	}
	return nil, berth.Errorf(berth.CodeNotFound, "sandbox %s does not exist", id)
}

// readWait bounds every wait for output, so that no test hangs.
const readWait = 20 * time.Second
