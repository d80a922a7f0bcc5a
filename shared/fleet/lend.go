package fleet

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/registryauth"
)

// LendFrom finds what an agent is to pull with in the users' secret about that. An
// answer without credentials lets the agent forget those that it was lent before.
// Errors: invalid for a secret of another form; unavailable.
func LendFrom(secrets berth.Secrets) func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error) {
	find := registryauth.FromSecret(secrets)
	return func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error) {
		lent := agentapi.RegistryCredentials{Registry: registry}
		found, err := find(ctx, registry)
		if err != nil || found == nil {
			return lent, err
		}
		lent.Username = wire.Text(found.Username)
		lent.Password, lent.IdentityToken = agentapi.Secret{SecretValue: found.Password}, agentapi.Secret{SecretValue: found.IdentityToken}
		return lent, nil
	}
}
