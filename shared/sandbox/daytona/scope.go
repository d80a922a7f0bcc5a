package daytona

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// The names of what the provider has in the store of secrets.
var (
	KeySecret   = berth.ProviderSecret("daytona/key")
	ScopeSecret = berth.ProviderSecret("daytona/scope")
)

// Scope reads the secret that names of built snapshots are keyed with, and makes
// it when there is none. Of two that make it at the same time one wins, and the
// other may build a snapshot twice.
func Scope(secrets berth.Secrets, clock berth.Clock) func(context.Context) (berth.SecretValue, error) {
	return remember(clock, func(ctx context.Context) (berth.SecretValue, error) {
		value, err := secrets.Read(ctx, ScopeSecret)
		if berth.CodeOf(err) != berth.CodeNotFound {
			return value, berth.Wrap(err, "reading the scope of Daytona's snapshots")
		}
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // it never fails
		if err := secrets.Put(ctx, ScopeSecret, berth.NewSecretValue([]byte(hex.EncodeToString(fresh)))); err != nil {
			return berth.SecretValue{}, berth.Wrap(err, "making the scope of Daytona's snapshots")
		}
		value, err = secrets.Read(ctx, ScopeSecret)
		return value, berth.Wrap(err, "reading the scope of Daytona's snapshots")
	})
}

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
