package agentapi

import (
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

func list(x *exchange) error {
	states, err := x.provider.List(x.r.Context())
	if err != nil {
		return err
	}
	items := make([]Sandbox, len(states))
	for i, state := range states {
		items[i] = Sandbox(state)
	}
	return x.answer(Sandboxes{items})
}

func provision(x *exchange) error {
	var p Provision
	if err := x.decode(&p); err != nil {
		return err
	}
	spec, err := p.Spec(x.ref.ID, x.owner.installation)
	if err != nil {
		return err
	}
	reason, err := x.lacksRoom()
	if err != nil {
		return err
	}
	if reason != nil {
		return x.answer(Sandbox{ID: spec.ID, Run: spec.Run, Status: berth.SandboxFailed, Reason: reason})
	}
	if keep := x.server.config.Credentials; keep != nil && p.Registry != nil {
		keep(*p.Registry)
	}
	state, err := x.provider.Provision(x.r.Context(), spec)
	if err != nil {
		return err
	}
	return x.answer(Sandbox(state))
}

// lacksRoom says why there can be no sandbox more. One that is there already
// goes on.
func (x *exchange) lacksRoom() (*berth.Reason, error) {
	c := x.server.config
	if c.Capacity == nil || c.MinFreeDisk <= 0 {
		return nil, nil
	}
	capacity, err := c.Capacity()
	if err != nil || capacity.FreeDiskBytes >= c.MinFreeDisk {
		return nil, err
	}
	state, err := x.provider.Describe(x.r.Context(), x.ref)
	if err != nil || state.Status != berth.SandboxGone {
		return nil, err
	}
	return &berth.Reason{
		Code:        berth.ReasonProvisionFailed,
		Message:     fmt.Sprintf("the host has %d MiB of free disk, and a new sandbox needs %d", capacity.FreeDiskBytes>>20, c.MinFreeDisk>>20),
		Remediation: "Free disk on the host, or lower berth-agent's --min-free-disk.",
	}, nil
}

func describe(x *exchange) error {
	state, err := x.provider.Describe(x.r.Context(), x.ref)
	if err != nil {
		return err
	}
	return x.answer(Sandbox(state))
}

func start(x *exchange) error {
	state, err := x.provider.Start(x.r.Context(), x.ref)
	if err != nil {
		return err
	}
	return x.answer(Sandbox(state))
}

func stop(x *exchange) error {
	if err := x.provider.Stop(x.r.Context(), x.ref); err != nil {
		return err
	}
	return x.answer(nil)
}

func destroy(x *exchange) error {
	if err := x.provider.Destroy(x.r.Context(), x.ref); err != nil {
		return err
	}
	if previews := x.server.config.Previews; previews != nil {
		previews.End(x.ref.ID)
	}
	return x.answer(nil)
}
