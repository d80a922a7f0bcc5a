//go:build !linux

package docker

import "github.com/berth-dev/berth/shared/berth"

// Provider runs on Linux only.
type Provider struct{ berth.Provider }

// New returns unsupported: the agent runs on Linux only.
func New(Config) (*Provider, error) {
	return nil, berth.Errorf(berth.CodeUnsupported, "the provider docker runs on Linux only")
}

// Close does nothing.
func (*Provider) Close() error { return nil }
