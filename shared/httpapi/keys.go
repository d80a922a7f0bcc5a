package httpapi

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// APIKeyParams name an API key.
type APIKeyParams struct {
	ID string `path:"id" doc:"Key id, or its first 6 characters or more when no other begins so" example:"01jd3v6d2c9q1s3t5w7y9a1c3e"`
}

func keyOperations() []operation {
	return []operation{
		op("list-keys", spec{
			summary: "List API keys", description: "In the order of their creation, without their values. Expired ones are listed for 30 days more.",
		}, (*API).listKeys),
		op("create-key", spec{
			summary: "Create an API key",
			description: "The answer has the key's value, this once: a repeated request with the same Idempotency-Key does not. " +
				"A key gives only scopes that it has itself.",
			status: 201, takes: berth.KeyRequest{}, example: berth.KeyRequest{Name: "ci", Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun}, ExpiresIn: "30d"},
		}, (*API).createKey),
		op("delete-key", spec{
			summary: "Remove an API key", description: "It counts for no request that comes after; on AWS the gateway may remember it for a minute.",
			codes: []berth.Code{berth.CodeConflict},
		}, (*API).deleteKey),
	}
}

func (a *API) listKeys(ctx context.Context, in *PageParams) (*body[berth.List[berth.Key]], error) {
	return listPage(ctx, *in, a.cfg.Records.ListKeys)
}

func (a *API) createKey(ctx context.Context, in *KeyParams) (*created[berth.IssuedKey], error) {
	var req berth.KeyRequest
	raw, err := readJSON(ctx, &req)
	if err != nil {
		return nil, allFaultsOf(err, func() []berth.Problem { return berth.ValidateKeyRequest(req) })
	}
	var issued berth.IssuedKey
	id, replayed, err := a.once(ctx, *in, raw, 201, func(try attempt) (string, error) {
		key, value, err := a.keys.Create(ctx, berth.KeyID(try.id), exchangeOf(ctx).principal, req)
		issued = berth.IssuedKey{Key: key, Value: string(value.Reveal())}
		if try.again && berth.CodeOf(err) == berth.CodeConflict {
			err = nil // the attempt that broke off made it; whether it showed the value is not known
		}
		return try.id, err
	})
	replayed = replayed || issued.Value == ""
	if err == nil && replayed {
		issued.Key, err = a.cfg.Records.FindKey(ctx, berth.KeyID(id))
	}
	if err != nil {
		return nil, err
	}
	return &created[berth.IssuedKey]{Location: Prefix + "/keys/" + id, Replayed: replayedHeader(replayed), Body: issued}, nil
}

func (a *API) deleteKey(ctx context.Context, in *APIKeyParams) (*empty, error) {
	id, err := a.cfg.Records.ResolveKey(ctx, in.ID)
	if err == nil {
		err = a.cfg.Records.DeleteKey(ctx, id)
	}
	return nil, at("path.id", err)
}
