package daytona

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/berth-dev/berth/shared/berth"
)

// The names of what the provider has in the store of secrets.
var (
	KeySecret   = berth.ProviderSecret("daytona/key")
	scopeSecret = berth.ProviderSecret("daytona/scope")
)

// Scope reads the secret that names of built snapshots are keyed with, and makes
// it when there is none. Of two that make it at the same time one wins, and the
// other may build a snapshot twice.
func Scope(secrets berth.Secrets) func(context.Context) (berth.SecretValue, error) {
	return func(ctx context.Context) (berth.SecretValue, error) {
		value, err := secrets.Read(ctx, scopeSecret)
		if berth.CodeOf(err) != berth.CodeNotFound {
			return value, berth.Wrap(err, "reading the scope of Daytona's snapshots")
		}
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // it never fails
		if err := secrets.Put(ctx, scopeSecret, berth.NewSecretValue([]byte(hex.EncodeToString(fresh)))); err != nil {
			return berth.SecretValue{}, berth.Wrap(err, "making the scope of Daytona's snapshots")
		}
		value, err = secrets.Read(ctx, scopeSecret)
		return value, berth.Wrap(err, "reading the scope of Daytona's snapshots")
	}
}

// Key reads the API key from the store of secrets.
func Key(secrets berth.Secrets) func(context.Context) (berth.SecretValue, error) {
	return func(ctx context.Context) (berth.SecretValue, error) {
		value, err := secrets.Read(ctx, KeySecret)
		if berth.CodeOf(err) == berth.CodeNotFound {
			return value, &berth.Error{
				Code: berth.CodeUnsupported, Field: "provider", Message: "provider daytona has no API key",
				Remediation: "Put one into the store of secrets as " + KeySecret + ".",
			}
		}
		return value, err
	}
}
