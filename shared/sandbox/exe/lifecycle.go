package exe

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Provision makes the VM and the sandbox in it, or goes on with the VM that is
// there. While the VM does not answer yet its status is creating. When it cannot
// be made, or does not come up, it is removed.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := spec.Check(berth.ProviderExe); err != nil {
		return berth.SandboxState{}, err
	}
	v, err := p.find(ctx, spec.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		v, err = p.create(ctx, spec)
	}
	if err != nil {
		return berth.SandboxState{}, err
	}
	ref := berth.SandboxRef{ID: spec.ID, Ref: v.ref()}
	waiting, cancel := context.WithTimeout(ctx, p.config.Patience)
	defer cancel()
	state, err := p.Sandboxes.Provision(waiting, ref, relay.Place{Run: spec.Run, Directory: workspace, Make: true})
	switch {
	case err == nil && state.Status != berth.SandboxFailed:
		return p.told(v, state), nil
	case err == nil:
		reason := berth.Reason{Code: berth.ReasonProvisionFailed, Message: "the sandbox could not be made"}
		if state.Reason != nil {
			reason = *state.Reason
		}
		return p.abandon(ctx, spec, reason)
	case ctx.Err() != nil:
		// Who cancels destroys by the name; who died comes again.
		return berth.SandboxState{}, err
	case berth.CodeOf(err) == berth.CodeNotFound:
		return p.abandon(ctx, spec, berth.Reason{Code: berth.ReasonLost, Message: "the VM was removed while it was being made"})
	case !starting(err):
		return p.abandon(ctx, spec, berth.Reason{Code: berth.ReasonProvisionFailed, Message: err.Error()})
	case p.age(v) > p.config.StartLimit:
		return p.abandon(ctx, spec, berth.Reason{
			Code: berth.ReasonProvisionFailed, Message: "the VM did not answer within " + p.config.StartLimit.String() + ": " + err.Error(),
			Remediation: "Try again; when it lasts, see whether the image starts an SSH session.",
		})
	}
	return p.creating(v), nil
}

// age is how long the VM has been there, by this machine's clock where it was made
// by this provider. Else it is as long as the lobby says, which may have another time,
// and at least since it was first seen.
func (p *Provider) age(v vm) time.Duration {
	now := p.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	first, seen := p.seen[v.Name]
	if !seen {
		first = sight{at: now}
		p.seen[v.Name] = first
	}
	age := now.Sub(first.at)
	if at := v.createdAt(); !first.made && !at.IsZero() {
		age = max(age, now.Sub(at))
	}
	return age
}

// starting reports whether err is one of a VM that is not up yet.
func starting(err error) bool {
	switch berth.CodeOf(err) {
	case berth.CodeUnavailable, berth.CodeTimedOut, berth.CodeInvalid, berth.CodeForbidden:
		return true // names resolve late, and keys are known late
	}
	return false
}

// create asks the lobby for the VM. Whatever it answers, a VM that it may have
// made all the same is removed again, but for an answer that never came: then the
// next Provision finds it.
func (p *Provider) create(ctx context.Context, spec berth.SandboxSpec) (vm, error) {
	name := nameOf(spec.ID)
	words := []string{
		"new", "--json", "--name=" + name, "--tag", ownTag(p.config.Installation),
		"--comment=" + label{p.config.Installation, spec.Run}.text(), "--no-email",
	}
	if o := spec.Environment.Exe; o != nil && o.Image != "" {
		words = append(words, "--image="+o.Image)
	}
	var v vm
	err := p.lobby.run(ctx, &v, words...)
	if err == nil && (v.Name != name || v.Dest == "" && v.Host == "") {
		err = berth.Errorf(berth.CodeUnavailable, "exe.dev made another VM than %s, or says nothing of how to reach it", name)
	}
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[name] = sight{at: p.config.Clock.Now(), made: true}
		return v, nil
	}
	err = ofImage(err)
	if berth.CodeOf(err) == berth.CodeConflict {
		// The answer to an earlier question was lost; or the name is another's, whose
		// VM is not to be removed.
		if v, findErr := p.find(ctx, spec.ID); findErr == nil {
			return v, nil
		}
		return vm{}, err
	}
	if removeErr := p.remove(ctx, spec.ID); removeErr != nil {
		p.config.Logger.Warn("a VM that could not be made may be left; it is swept later", "vm", name, "error", removeErr)
	}
	return vm{}, err
}

// ofImage tells a refusal of the image from one of the VM: a VM that is to be made is
// never not found, and an image's name is nobody's.
func ofImage(err error) error {
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeNotFound && (e.Code != berth.CodeConflict || !strings.Contains(strings.ToLower(e.Message), "image")) {
		return err
	}
	return &berth.Error{
		Code: berth.CodeInvalid, Field: "exe.image", Message: e.Message, Cause: err,
		Remediation: "Name an image that exe.dev may pull.",
	}
}

// removeLimit is for a removal after a failure, which the end of ctx does not stop.
const removeLimit = 2 * time.Minute

func (p *Provider) remove(ctx context.Context, id berth.SandboxID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	return p.Destroy(ctx, berth.SandboxRef{ID: id})
}

func (p *Provider) abandon(ctx context.Context, spec berth.SandboxSpec, reason berth.Reason) (berth.SandboxState, error) {
	err := p.remove(ctx, spec.ID)
	return berth.SandboxState{ID: spec.ID, Run: spec.Run, Status: berth.SandboxFailed, Reason: &reason}, err
}

func (p *Provider) creating(v vm) berth.SandboxState {
	id, _ := sandboxOf(v.Name)
	return berth.SandboxState{
		ID: id, Run: v.label().Run, Status: berth.SandboxCreating, Ref: v.ref(), CreatedAt: v.createdAt(), Detail: "the VM is starting",
	}
}

// told is a daemon's state as this provider tells it.
func (p *Provider) told(v vm, state berth.SandboxState) berth.SandboxState {
	state.Ref, state.Hint = v.ref(), hint(v.ref(), state.Workspace)
	return state
}

// Describe returns status gone for a VM that is not there, and creating for one
// that does not answer yet.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	v, err := p.find(ctx, ref.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	if err != nil {
		return berth.SandboxState{}, err
	}
	return p.describe(ctx, v, ref.ID)
}

func (p *Provider) describe(ctx context.Context, v vm, id berth.SandboxID) (berth.SandboxState, error) {
	young := p.age(v) < p.config.StartLimit
	asking, cancel := context.WithTimeout(ctx, p.config.Patience)
	defer cancel()
	state, err := p.Sandboxes.Describe(asking, berth.SandboxRef{ID: id, Ref: v.ref()})
	switch {
	case err == nil && state.Status != berth.SandboxGone:
		return p.told(v, state), nil
	case ctx.Err() != nil, err != nil && !starting(err):
		return state, err
	case young:
		return p.creating(v), nil
	}
	state = p.creating(v)
	state.Status, state.Detail = berth.SandboxFailed, ""
	state.Reason = &berth.Reason{Code: berth.ReasonLost, Message: "the VM is there and does not answer"}
	return state, nil
}

// Start makes a stopped or failed sandbox ready again.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	v, err := p.find(ctx, ref.ID)
	if err != nil {
		return berth.SandboxState{}, err
	}
	state, err := p.Sandboxes.Start(ctx, berth.SandboxRef{ID: ref.ID, Ref: v.ref()})
	if err != nil {
		return state, err
	}
	return p.told(v, state), nil
}

// Destroy removes the VM by its name, whether it answers or not. Another
// installation's VM is let be.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	v, err := p.find(ctx, ref.ID)
	if err == nil {
		err = p.lobby.remove(ctx, v.Name)
	}
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return berth.Wrap(err, "removing the VM of sandbox "+string(ref.ID))
	}
	p.Sandboxes.Forget(ref.ID)
	if err == nil {
		p.leave(v.ref())
	}
	if ref.Ref != "" {
		p.leave(ref.Ref)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, nameOf(ref.ID))
	return nil
}

// List returns the VMs that carry this installation's mark. Without an account
// there are none.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	all, err := p.lobby.list(ctx, "")
	if berth.CodeOf(err) == berth.CodeUnsupported {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var states []berth.SandboxState
	for _, v := range all {
		id, ours := sandboxOf(v.Name)
		if !ours || !v.belongs(p.config.Installation) {
			continue
		}
		state, err := p.describe(ctx, v, id)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	sort.Slice(states, func(i, j int) bool { return states[i].ID < states[j].ID })
	return states, nil
}
