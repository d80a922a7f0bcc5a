package serverless

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
)

// BootstrapRequest asks for the first key of an installation.
type BootstrapRequest struct {
	// Force makes a key although there are keys that could make one: for when all
	// of them are lost.
	Force bool `json:"force"`
}

// FirstKey is the answer: a key with every scope of people, whose value is shown
// this once.
type FirstKey struct {
	ID     berth.KeyID   `json:"id"`
	Name   string        `json:"name"`
	Scopes []berth.Scope `json:"scopes"`
	Value  string        `json:"value"`
}

// bootstrapName is the name of first keys, and of who made them.
const bootstrapName = "bootstrap"

// Bootstrap is the handler of the first call after a deployment: it makes what a
// new installation lacks, and gives its first key. Its errors have names, such as
// ConflictName when there is a live key with the scope admin and nothing forces
// another.
func (w *Wiring) Bootstrap() func(context.Context, BootstrapRequest) (FirstKey, error) {
	return func(ctx context.Context, request BootstrapRequest) (FirstKey, error) {
		key, err := w.bootstrap(ctx, request)
		if err != nil {
			w.Logger.WarnContext(ctx, "gave no first key", "error", err.Error())
			return FirstKey{}, messages.InvokeResponse_Error{Type: runner.ErrorName(err), Message: err.Error()}
		}
		w.Logger.InfoContext(ctx, "gave a first key", "key", key.ID, "forced", request.Force)
		return key, nil
	}
}

// ConflictName is the name of a conflict among the errors of functions.
const ConflictName = "Berth.Conflict"

func (w *Wiring) bootstrap(ctx context.Context, request BootstrapRequest) (FirstKey, error) {
	if err := w.Settle(ctx); err != nil {
		return FirstKey{}, err
	}
	if !request.Force {
		if err := w.noAdmin(ctx); err != nil {
			return FirstKey{}, err
		}
	}
	keys := access.Keys{Records: w.Records, Clock: w.clock, IDs: w.ids, Random: rand.Reader}
	key, value, err := keys.Issue(ctx, berth.Key{
		Name: bootstrapName, CreatedBy: bootstrapName,
		Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin},
	})
	if err != nil {
		return FirstKey{}, berth.Wrap(err, "giving the first key")
	}
	return FirstKey{ID: key.ID, Name: key.Name, Scopes: key.Scopes, Value: string(value.Reveal())}, nil
}

// noAdmin is a conflict when a live key may make keys.
func (w *Wiring) noAdmin(ctx context.Context) error {
	for cursor := ""; ; {
		page, next, err := w.Records.ListKeys(ctx, berth.MaxQueryLimit, cursor)
		if err != nil {
			return berth.Wrap(err, "looking for keys")
		}
		for _, key := range page {
			if !key.Expired(w.clock.Now()) && slices.Contains(key.Scopes, berth.ScopeAdmin) {
				return berth.Errorf(berth.CodeConflict, "the installation has a key with the scope admin, %s (%s): "+
					"make keys with that one, or force the bootstrap if it is lost", key.Name, key.ID)
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}
