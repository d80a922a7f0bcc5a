package sprites

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret"
)

// TokenSecret is the secret in which an installation keeps its Sprites token.
var TokenSecret = berth.ProviderSecret("sprites/token")

// Token reads the token from the store of secrets, once a minute. While there is
// none, its error is unsupported with what to do.
func Token(secrets berth.Secrets, clock berth.Clock) func(context.Context) (berth.SecretValue, error) {
	return secret.Remember(secrets, clock, TokenSecret, "provider sprites has no token")
}
