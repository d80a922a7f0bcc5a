package daytona

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret"
)

// KeySecret is the name of the API key in the store of secrets.
var KeySecret = berth.ProviderSecret("daytona/key")

// Key reads the API key from the store of secrets. One that is put there works a
// minute later at most. Error: unsupported while there is none.
func Key(secrets berth.Secrets, clock berth.Clock) func(context.Context) (berth.SecretValue, error) {
	return secret.Remember(secrets, clock, KeySecret, "provider daytona has no API key")
}
