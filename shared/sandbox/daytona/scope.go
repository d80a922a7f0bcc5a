package daytona

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// KeySecret is the name of the API key in the store of secrets.
var KeySecret = berth.ProviderSecret("daytona/key")

// Key reads the API key from the store of secrets. One that is put there works a
// minute later at most. Error: unsupported while there is none.
func Key(secrets berth.Secrets, clock berth.Clock) func(context.Context) (berth.SecretValue, error) {
	return remember(clock, func(ctx context.Context) (berth.SecretValue, error) {
		value, err := secrets.Read(ctx, KeySecret)
		if berth.CodeOf(err) == berth.CodeNotFound {
			return value, &berth.Error{
				Code: berth.CodeUnsupported, Field: "provider", Message: "provider daytona has no API key",
				Remediation: "Put one into the store of secrets as " + KeySecret + ".",
			}
		}
		return value, err
	})
}

const rememberedSecret = time.Minute

// remember asks for a secret once a minute: each request to Daytona needs one.
func remember(clock berth.Clock, read func(context.Context) (berth.SecretValue, error)) func(context.Context) (berth.SecretValue, error) {
	var mu sync.Mutex
	var value berth.SecretValue
	var at time.Time
	return func(ctx context.Context) (berth.SecretValue, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := clock.Now(); at.IsZero() || now.Sub(at) > rememberedSecret {
			fresh, err := read(ctx)
			if err != nil {
				return fresh, err
			}
			value, at = fresh, now
		}
		return value, nil
	}
}
