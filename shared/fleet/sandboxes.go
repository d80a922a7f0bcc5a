package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func gone(ref berth.SandboxRef, err error) error {
	if isRemoved(err) {
		return berth.Errorf(berth.CodeNotFound, "sandbox %s is gone: %s", ref.ID, err.Error())
	}
	return err
}

// state passes on a call that answers with a sandbox's state.
func (f *Fleet) state(ctx context.Context, ref berth.SandboxRef, do func(berth.Provider) (berth.SandboxState, error)) (berth.SandboxState, error) {
	state, err := call(ctx, f, ref.Host, true, do)
	return at(ref.Host, state), gone(ref, err)
}

// at is a state as seen from the server: the command line that gets a person into
// a sandbox on its host is of no use elsewhere.
func at(host berth.HostID, state berth.SandboxState) berth.SandboxState {
	if state.Host = host; host != "" {
		state.Hint = ""
	}
	return state
}

// done passes on a call that answers with nothing.
func (f *Fleet) done(ctx context.Context, ref berth.SandboxRef, do func(berth.Provider) error) error {
	_, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (struct{}, error) { return struct{}{}, do(p) })
	return gone(ref, err)
}

// Provision makes the sandbox on the host of spec.
func (f *Fleet) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	return f.state(ctx, berth.SandboxRef{ID: spec.ID, Host: spec.Host}, func(p berth.Provider) (berth.SandboxState, error) {
		return p.Provision(ctx, spec)
	})
}

// Describe says gone of what was on a host that was removed, and nothing of what is
// on one that does not answer.
func (f *Fleet) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.SandboxState, error) { return p.Describe(ctx, ref) })
	if isRemoved(err) {
		return berth.SandboxState{ID: ref.ID, Host: ref.Host, Status: berth.SandboxGone}, nil
	}
	return at(ref.Host, state), err
}

// Stop gives back what the sandbox takes of its host.
func (f *Fleet) Stop(ctx context.Context, ref berth.SandboxRef) error {
	err := f.done(ctx, ref, func(p berth.Provider) error { return p.Stop(ctx, ref) })
	if err == nil && ref.Host != "" {
		err = f.config.Records.RestPlace(ctx, ref.Host, ref.ID)
	}
	return err
}

// Start takes again what the sandbox takes of its host. Error: unavailable also
// when the host has not so much left.
func (f *Fleet) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	if ref.Host != "" {
		h, err := f.config.Records.FindHost(ctx, ref.Host)
		if berth.CodeOf(err) == berth.CodeNotFound {
			return berth.SandboxState{}, gone(ref, removed{ref.Host})
		}
		if err != nil {
			return berth.SandboxState{}, err
		}
		awake, err := f.config.Records.WakePlace(ctx, h.Host, ref.ID)
		if err != nil {
			return berth.SandboxState{}, err
		}
		if !awake {
			return berth.SandboxState{}, &berth.Error{
				Code: berth.CodeUnavailable, Message: "host " + string(ref.Host) + " has no room for sandbox " + string(ref.ID) + " now",
				Remediation: "Wait until something else on the host has ended, or destroy what is not needed there.",
			}
		}
	}
	return f.state(ctx, ref, func(p berth.Provider) (berth.SandboxState, error) { return p.Start(ctx, ref) })
}

// Destroy gives the sandbox's place back.
func (f *Fleet) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	_, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (struct{}, error) { return struct{}{}, p.Destroy(ctx, ref) })
	if isRemoved(err) {
		return nil
	}
	if err == nil && ref.Host != "" {
		err = f.config.Records.LeavePlace(ctx, ref.Host, ref.ID)
	}
	return err
}

// listTime is how long one host may take to list its sandboxes.
const listTime = 15 * time.Second

// List returns what is on the server's own engine and on every host that answers.
// Of a host that does not, nothing is known, and that holds up none of the others.
func (f *Fleet) List(ctx context.Context) ([]berth.SandboxState, error) {
	hosts, err := f.config.Records.AllHosts(ctx)
	if err != nil {
		return nil, err
	}
	asked := []berth.HostID{}
	if engine, _ := f.local(); engine != nil {
		asked = append(asked, "")
	}
	for _, h := range hosts {
		if h.Status == berth.HostReady || h.Status == berth.HostDraining {
			asked = append(asked, h.ID)
		}
	}
	lists := make([][]berth.SandboxState, len(asked))
	var wg sync.WaitGroup
	for i, host := range asked {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, listTime)
			defer cancel()
			list, err := call(ctx, f, host, true, func(p berth.Provider) ([]berth.SandboxState, error) { return p.List(ctx) })
			if err != nil {
				f.config.Logger.Warn("the sandboxes of a host are not known", "host", string(host), "error", err)
				return
			}
			for j := range list {
				list[j] = at(host, list[j])
			}
			lists[i] = list
		})
	}
	wg.Wait()
	var all []berth.SandboxState
	for _, list := range lists {
		all = append(all, list...)
	}
	return all, ctx.Err()
}
