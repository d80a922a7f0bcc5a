//go:build linux

package docker

import (
	"context"

	"github.com/moby/moby/client"
)

// EngineVersion is the engine's version. Its error says why the provider does not
// work now.
func (p *Provider) EngineVersion(ctx context.Context) (string, error) {
	found, err := p.engine.version(ctx)
	return found.Version, err
}

func (e *engine) version(ctx context.Context) (found client.ServerVersionResult, err error) {
	err = e.call(ctx, "asking the Docker engine for its version", func(ctx context.Context) error {
		found, err = e.api.ServerVersion(ctx, client.ServerVersionOptions{})
		return err
	})
	return found, err
}

// architecture is the engine's, in Go's words. It stays the same.
func (e *engine) architecture(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.arch == "" {
		found, err := e.version(ctx)
		if err != nil {
			return "", err
		}
		e.arch = found.Arch
	}
	return e.arch, nil
}
