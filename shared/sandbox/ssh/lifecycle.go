package ssh

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Provision makes a sandbox in the environment's working directory, which is
// made when it is not there. A directory that is a file or in use, and a bash
// that does not answer, are told as a state failed with its reason, and nothing
// is left behind. Errors: invalid for a name that does not resolve, forbidden for
// a changed host key and a key that is not accepted, unsupported for what the
// mapping refuses. On a host that holds no guest, plain commands do the work, and
// the state's detail says so.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := spec.Check(berth.ProviderSSH); err != nil {
		return berth.SandboxState{}, err
	}
	o := spec.Environment.SSH
	if o == nil || o.Destination == "" || o.WorkingDirectory == "" {
		return berth.SandboxState{}, berth.FieldErrorf(berth.CodeInvalid, "ssh", "must name a destination and a working_directory")
	}
	h := hostOf(*o)
	p.remember(spec.ID, h)
	ref := berth.SandboxRef{ID: spec.ID, Ref: h.ref()}
	kind := commands(p.guests)
	state, err := p.guests.Provision(ctx, ref, relay.Place{Run: spec.Run, Directory: o.WorkingDirectory, Make: true})
	if holdsNoGuest(err) {
		h.plain = true
		ref.Ref = h.ref()
		p.remember(spec.ID, h)
		kind = p.plain
		state, err = p.plain.Provision(ctx, ref, spec.Run, o.WorkingDirectory)
	}
	switch {
	case err != nil:
		return berth.SandboxState{}, berth.Wrap(err, "making a sandbox on "+h.destination)
	case state.Status == berth.SandboxFailed:
		if err := kind.Destroy(context.WithoutCancel(ctx), ref); err != nil {
			return berth.SandboxState{}, err
		}
		reason := berth.Reason{Code: berth.ReasonProvisionFailed, Message: "the sandbox could not be made"}
		if state.Reason != nil {
			reason = *state.Reason
		}
		if reason.Code == berth.ReasonDirectoryMissing {
			reason.Message = "ssh.working_directory " + o.WorkingDirectory + " of " + h.destination + " cannot be made, or is no directory"
			reason.Remediation = "Name a directory that the user may make or use."
		}
		return p.failed(spec, reason), nil
	}
	return p.told(h, state), nil
}

func (p *Provider) failed(spec berth.SandboxSpec, reason berth.Reason) berth.SandboxState {
	p.forget(spec.ID)
	return berth.SandboxState{ID: spec.ID, Run: spec.Run, Status: berth.SandboxFailed, Reason: &reason}
}

// told is a daemon's state as this provider tells it.
func (p *Provider) told(h host, state berth.SandboxState) berth.SandboxState {
	if state.Status == berth.SandboxGone {
		return berth.SandboxState{ID: state.ID, Status: berth.SandboxGone}
	}
	state.Ref = h.ref()
	state.Hint = h.hint(state.Workspace)
	return state
}

// hint is the command line that gets a person there.
func (h host) hint(workspace string) string {
	words := []string{"ssh", "-t"}
	if h.configFile != "" {
		words = append(words, "-F", h.configFile)
	}
	return berth.ShellQuote(append(words, h.destination, "cd "+berth.ShellQuote(workspace)+" && exec bash -i")...)
}

// Describe returns status gone for a sandbox that is not there.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	h, err := p.find(ctx, ref)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	if err != nil {
		return berth.SandboxState{}, err
	}
	if !h.plain {
		state, err := p.guests.Describe(ctx, ref)
		if !holdsNoGuest(err) {
			return p.told(h, state), err
		}
		h.plain = true // its record does not say so
	}
	state, err := p.plain.Describe(ctx, berth.SandboxRef{ID: ref.ID, Ref: h.ref()})
	return p.told(h, state), err
}

// Start makes a stopped or failed sandbox ready again.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	h, err := p.find(ctx, ref)
	if err != nil {
		return berth.SandboxState{}, err
	}
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.SandboxState{}, err
	}
	state, err := c.Start(ctx, ref)
	if err != nil {
		return state, err
	}
	return p.told(h, state), nil
}

// Destroy ends every process of the sandbox and removes its folder on the host.
// The working directory stays: it is the user's.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	h, err := p.find(ctx, ref)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return nil
	case err == nil && !h.plain:
		if err = p.guests.Destroy(ctx, ref); holdsNoGuest(err) {
			h.plain = true
			err = nil
		}
	}
	if err == nil && h.plain {
		err = p.plain.Destroy(ctx, berth.SandboxRef{ID: ref.ID, Ref: h.ref()})
	}
	switch berth.CodeOf(err) {
	case berth.CodeInvalid, berth.CodeForbidden, berth.CodeUnsupported:
		if ref.Ref == "" {
			// A host that lets nobody in, of a sandbox that never was ready: if there
			// is something all the same, List finds it when the host is well again.
			p.config.Logger.Warn("a sandbox that was never ready counts as gone: its host cannot be used", "sandbox", string(ref.ID), "error", err)
			err = nil
		}
	}
	if err == nil {
		p.forget(ref.ID)
	}
	return err
}

// List asks every host that a recorded sandbox is or was on. A host that does
// not answer is passed over, with a line in the log.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	records, err := p.records(ctx)
	if err != nil {
		return nil, err
	}
	hosts := map[berth.SandboxID]host{}
	p.mu.Lock()
	for id, h := range p.hosts {
		hosts[id] = h
	}
	p.mu.Unlock()
	for _, r := range records {
		if r.Options.Destination != "" {
			hosts[r.ID] = hostOf(r.Options)
		}
	}
	asked := map[host]bool{}
	var all []berth.SandboxState
	for _, h := range hosts {
		if asked[h.connection()] {
			continue
		}
		asked[h.connection()] = true
		states, err := p.listHost(ctx, h, hosts)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			p.config.Logger.Warn("the sandboxes of an SSH host are not known", "destination", h.destination, "error", err)
		}
		all = append(all, states...)
	}
	sortByID(all)
	return all, nil
}

func (p *Provider) listHost(ctx context.Context, h host, hosts map[berth.SandboxID]host) ([]berth.SandboxState, error) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	sh, err := p.shell(ctx, h)
	if err != nil {
		return nil, err
	}
	ids, err := p.guest.List(ctx, sh)
	if err != nil {
		return nil, err
	}
	states := make([]berth.SandboxState, len(ids))
	var asking sync.WaitGroup
	slots := make(chan struct{}, askedAtOnce)
	for i, id := range ids { // each for itself: one that does not answer hides no other
		where, recorded := hosts[id]
		if !recorded || where.connection() != h.connection() {
			where = h
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			states[i] = p.seen(ctx, id, where)
		})
	}
	asking.Wait()
	return states, nil
}

// seen is a sandbox whose folder is there, whether there is one in it and whether it
// answers or not.
func (p *Provider) seen(ctx context.Context, id berth.SandboxID, h host) berth.SandboxState {
	ctx, cancel := context.WithTimeout(ctx, seenLimit)
	defer cancel()
	state, err := p.Describe(ctx, berth.SandboxRef{ID: id, Ref: h.ref()})
	if err == nil && state.Status != berth.SandboxGone {
		return state
	}
	state = berth.SandboxState{ID: id, Status: berth.SandboxFailed, Ref: h.ref()}
	if err != nil {
		state.Reason = &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox's folder is there, and it does not answer: " + err.Error()}
	}
	return state
}

const (
	// listLimit is for one host, and seenLimit for each sandbox on it.
	listLimit = time.Minute
	seenLimit = listLimit / 4
	// askedAtOnce is how many sandboxes of a host are asked at a time. An SSH server
	// turns away at random whom it has no room for: healthy ones would seem lost.
	askedAtOnce = 4
)
