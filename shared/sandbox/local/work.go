//go:build linux

package local

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// agent finds what answers for a sandbox. A sandbox that was only just claimed
// has nothing yet.
func (p *Provider) agent(ref berth.SandboxRef) (*hostagent.Sandbox, error) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil || b.gone {
		return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	return b.agent, nil
}
