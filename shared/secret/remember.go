package secret

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// rememberedFor is how long a secret is used before it is read again.
const rememberedFor = time.Minute

// Remember reads a secret of berth's own that every request to a service needs,
// once a minute: one that is put into the store works a minute later at most. what
// names it to people. Errors: unsupported, with what to do, while there is none;
// those of the store.
func Remember(secrets berth.Secrets, clock berth.Clock, name, what string) func(context.Context) (berth.SecretValue, error) {
	var mu sync.Mutex // guards what follows
	var value berth.SecretValue
	var at time.Time
	return func(ctx context.Context) (berth.SecretValue, error) {
		mu.Lock()
		defer mu.Unlock()
		now := clock.Now()
		if !at.IsZero() && now.Sub(at) < rememberedFor {
			return value, nil
		}
		fresh, err := secrets.Read(ctx, name)
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound:
			return fresh, &berth.Error{
				Code: berth.CodeUnsupported, Field: "provider", Message: what,
				Remediation: "Put one into the store of secrets as " + name + ".",
			}
		case err != nil:
			return fresh, err
		}
		value, at = fresh, now
		return value, nil
	}
}
