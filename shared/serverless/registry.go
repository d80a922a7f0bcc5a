package serverless

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// lendsNothing marks the work of a function that may not read users' secrets.
type lendsNothing struct{}

// withoutLending is for the sweeper. The sandboxes that it makes ahead of runs are
// pulled with what their agent was lent before.
func withoutLending(ctx context.Context) context.Context {
	return context.WithValue(ctx, lendsNothing{}, true)
}

// lending finds what agents are to pull with. An answer that names no registry
// leaves them what they have.
func lending(secrets berth.Secrets) func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error) {
	lend := fleet.LendFrom(secrets)
	return func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error) {
		if ctx.Value(lendsNothing{}) != nil {
			return agentapi.RegistryCredentials{}, nil
		}
		return lend(ctx, registry)
	}
}
