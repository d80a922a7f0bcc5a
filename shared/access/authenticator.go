package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Config is what an Authenticator is made of. Records and Clock are required.
type Config struct {
	Records *records.Store
	Clock   berth.Clock
	// Token is the embedded server's own; empty is none.
	Token string
	// Logger is told when a use could not be recorded; none when nil.
	Logger *slog.Logger
}

// Authenticator says whom a bearer token stands for: the server itself, or a key.
// It may be used by many goroutines at once.
type Authenticator struct {
	cfg   Config
	token Token

	mu    sync.Mutex                // guards tried
	tried map[berth.KeyID]time.Time // when a use was last recorded, or was tried to be
}

const (
	usedEvery = time.Minute     // between two records of a key's use
	usedLimit = 2 * time.Second // for recording one
	maxTried  = 10_000          // keys that are remembered
)

// NewAuthenticator looks every key up anew, so that a key that was removed counts
// for no request that comes after.
func NewAuthenticator(cfg Config) *Authenticator {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Authenticator{cfg: cfg, token: NewToken(cfg.Token), tried: map[berth.KeyID]time.Time{}}
}

// Authenticate returns unauthenticated for a token that is not known (also one
// that was removed) or has expired, and unavailable when the table does not answer.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (berth.Principal, error) {
	if a.cfg.Token != "" && a.token.is(token) {
		return localPrincipal(), nil
	}
	if !IsValue(token) {
		return berth.Principal{}, unknown()
	}
	key, err := a.cfg.Records.FindKeyByHash(ctx, HashOf(token))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.Principal{}, unknown()
	}
	if err != nil {
		return berth.Principal{}, berth.Wrap(err, "looking a key up")
	}
	now := a.cfg.Clock.Now()
	if key.Expired(now) {
		// Only who holds the whole key learns this.
		return berth.Principal{}, &berth.Error{
			Code: berth.CodeUnauthenticated, Message: "the key expired on " + key.ExpiresAt.UTC().Format(time.DateTime) + " UTC",
			Remediation: "Use another key, or have one made with `berth key create`.",
		}
	}
	a.record(ctx, key, now)
	return key.Principal(), nil
}

// record notes the use of a key, at most once a minute and whatever becomes of it:
// a request does not fail for want of a note.
func (a *Authenticator) record(ctx context.Context, key records.StoredKey, now time.Time) {
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < usedEvery || !a.due(key.ID, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usedLimit)
	defer cancel()
	// Stale means that somebody else recorded a use, or removed the key.
	if err := a.cfg.Records.UseKey(ctx, key, now); err != nil && berth.CodeOf(err) != berth.CodeStale {
		a.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a key's use was not recorded", slog.String("key", string(key.ID)), slog.String("error", err.Error()))
	}
}

// due reports whether this process has not tried for a minute, and claims the try.
func (a *Authenticator) due(id berth.KeyID, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.tried[id]; ok && now.Sub(last) < usedEvery {
		return false
	}
	if len(a.tried) >= maxTried {
		clear(a.tried)
	}
	a.tried[id] = now
	return true
}
