package daytona

import (
	"context"
	"sort"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// List returns the sandboxes of this installation, oldest first. Daytona's list
// lags behind, so each that it has is looked at by itself, and so is what this
// process knows to be there.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	if _, err := p.config.Key(ctx); berth.CodeOf(err) == berth.CodeUnsupported {
		return nil, nil // without a key nothing was made
	}
	listed, err := p.client.ListSandboxes(ctx, map[string]string{labelInstallation: string(p.config.Installation)})
	if err != nil {
		return nil, berth.Wrap(err, "listing Daytona's sandboxes")
	}
	ids := map[string]bool{}
	for _, s := range listed {
		if s.Labels[labelInstallation] == string(p.config.Installation) && s.State != daytonaapi.Destroyed {
			ids[s.ID] = true
		}
	}
	p.mu.Lock()
	for _, b := range p.boxes {
		if l := b.liveNow(); l != nil {
			ids[l.sandbox.ID] = true
		}
	}
	p.mu.Unlock()
	var states []berth.SandboxState
	for id := range ids {
		s, err := p.client.FindSandbox(ctx, id)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sandbox := berth.SandboxID(s.Labels[labelSandbox])
		if isGone(s) || !berth.IsULID(string(sandbox)) || !p.owns(s, sandbox) {
			continue
		}
		states = append(states, p.stateOf(p.box(sandbox).fresh(s), sandbox))
	}
	sort.Slice(states, func(i, j int) bool {
		if a, b := states[i].CreatedAt, states[j].CreatedAt; !a.Equal(b) {
			return a.Before(b)
		}
		return states[i].ID < states[j].ID
	})
	return states, nil
}
