package agentapi

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// Engine is the optional power of a provider that has a container engine: the
// engine's version. Its error says why the provider does not work now.
type Engine interface {
	EngineVersion(ctx context.Context) (string, error)
}

func health(x *exchange) error {
	c := x.server.config
	h := Health{
		Version: c.Version.Version, Commit: c.Version.Commit, Go: c.Version.Go, Installation: x.owner.installation,
		Providers: []ProviderHealth{},
	}
	if c.Capacity != nil {
		capacity, err := c.Capacity()
		if err != nil {
			return berth.Wrap(err, "looking at the host")
		}
		h.Capacity = capacity
	}
	for _, kind := range x.owner.kinds() {
		h.Providers = append(h.Providers, x.look(x.owner.providers[kind]))
	}
	return x.answer(h)
}

// look asks one provider. That it does not work is a part of the answer.
func (x *exchange) look(provider berth.Provider) ProviderHealth {
	h := ProviderHealth{Kind: provider.Kind()}
	if engine, ok := provider.(Engine); ok {
		version, err := engine.EngineVersion(x.r.Context())
		if err != nil {
			h.Problem = problemOf(err, x.id).Detail
			return h
		}
		h.Engine = version
	}
	states, err := provider.List(x.r.Context())
	if err != nil {
		h.Problem = problemOf(err, x.id).Detail
	}
	h.Sandboxes = len(states)
	return h
}
