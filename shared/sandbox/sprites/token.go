package sprites

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// TokenSecret is the secret in which an installation keeps its Sprites token.
var TokenSecret = berth.ProviderSecret("sprites/token")

// rememberedToken is how long a token is used before it is read again.
const rememberedToken = time.Minute

// Token reads the token from the store of secrets, once a minute. While there is
// none, its error is unsupported with what to do.
func Token(secrets berth.Secrets, clock berth.Clock) func(context.Context) (berth.SecretValue, error) {
	var mu sync.Mutex // guards what follows
	var value berth.SecretValue
	var read time.Time
	return func(ctx context.Context) (berth.SecretValue, error) {
		mu.Lock()
		defer mu.Unlock()
		now := clock.Now()
		if !read.IsZero() && now.Sub(read) < rememberedToken {
			return value, nil
		}
		fresh, err := secrets.Read(ctx, TokenSecret)
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound:
			return fresh, &berth.Error{
				Code: berth.CodeUnsupported, Field: "provider", Message: "provider sprites has no token",
				Remediation: "Put one into the store of secrets as " + TokenSecret + ".",
			}
		case err != nil:
			return fresh, err
		}
		value, read = fresh, now
		return value, nil
	}
}
