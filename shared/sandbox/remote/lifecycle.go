package remote

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

func (p *Provider) sandbox(method string, ref berth.SandboxRef, below ...string) call {
	return p.call(method, agentapi.SandboxPath(p.config.Kind, ref.ID, below...), ref)
}

// Provision makes the sandbox on the agent's host.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	body, err := agentapi.ProvisionOf(spec)
	if err != nil {
		return berth.SandboxState{}, fmt.Errorf("encoding a sandbox: %w", err)
	}
	if body.Registry, err = p.registry(ctx, spec.Environment); err != nil {
		return berth.SandboxState{}, berth.Wrap(err, "finding the credentials of the image's registry")
	}
	return p.state(ctx, p.sandbox(http.MethodPut, berth.SandboxRef{ID: spec.ID}), body)
}

// usualRegistry is that of images without one.
const usualRegistry = "docker.io"

// registry has the credentials that the image of e is pulled with.
func (p *Provider) registry(ctx context.Context, e berth.Environment) (*agentapi.RegistryCredentials, error) {
	if p.config.Credentials == nil {
		return nil, nil
	}
	image := berth.DefaultDockerImage
	if e.Image.Docker != nil {
		image = *e.Image.Docker
	}
	ref, err := berth.ParseImage(image)
	if err != nil {
		return nil, nil // the provider says what is wrong with it
	}
	found, err := p.config.Credentials(ctx, cmp.Or(ref.Registry, usualRegistry))
	if err != nil || found.Registry == "" {
		return nil, err
	}
	return &found, nil
}

// Describe asks the agent.
func (p *Provider) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := p.state(ctx, p.sandbox(http.MethodGet, ref), nil)
	if berth.CodeOf(err) == berth.CodeNotFound { // of an id that is none
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	return state, err
}

// Start makes the sandbox ready again.
func (p *Provider) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	return p.state(ctx, p.sandbox(http.MethodPost, ref, "start"), nil)
}

func (p *Provider) state(ctx context.Context, k call, in any) (berth.SandboxState, error) {
	var s agentapi.Sandbox
	err := p.exchange(ctx, k, in, &s)
	return s.State(), err
}

// Stop ends the sandbox's commands.
func (p *Provider) Stop(ctx context.Context, ref berth.SandboxRef) error {
	return p.exchange(ctx, p.sandbox(http.MethodPost, ref, "stop"), nil, nil)
}

// Destroy removes the sandbox from the host.
func (p *Provider) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	return p.exchange(ctx, p.sandbox(http.MethodDelete, ref), nil, nil)
}

// List returns the agent's sandboxes of this kind.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	var list agentapi.Sandboxes
	err := p.exchange(ctx, p.call(http.MethodGet, agentapi.SandboxesPath(p.config.Kind), berth.SandboxRef{}), nil, &list)
	var states []berth.SandboxState
	for _, s := range list.Items {
		states = append(states, s.State())
	}
	return states, err
}

// Health asks what the agent has and can.
func (p *Provider) Health(ctx context.Context) (agentapi.Health, error) {
	var h agentapi.Health
	err := p.exchange(ctx, p.call(http.MethodGet, agentapi.HealthPath, berth.SandboxRef{}), nil, &h)
	return plainHealth(h), err
}
