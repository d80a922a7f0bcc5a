package serverless

import (
	"context"
	"maps"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// openHosts is the provider of the hosts that have joined. Their agents pull with
// what lend finds, or with what they have when it is nil.
func (w *Wiring) openHosts(lend func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error)) berth.Provider {
	return fleet.New(fleet.Config{
		Records: w.Records, Secrets: w.secrets, Installation: w.Variables.Installation, Clock: w.clock, Logger: w.Logger, Credentials: lend,
	})
}

// withoutLending are the providers of the sweeper, whose function may not read users'
// secrets. The sandboxes that it makes ahead of runs are pulled with what their agent
// was lent before.
func (w *Wiring) withoutLending() control.Providers {
	all := maps.Clone(w.providers)
	all[berth.ProviderDocker] = w.openHosts(nil)
	return all
}
