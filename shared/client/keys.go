package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// ListKeys lists API keys in the order of their creation, without their values.
func (c *Client) ListKeys(ctx context.Context, page Page) (berth.List[berth.Key], error) {
	return listOf[berth.Key](ctx, c, "/keys", page)
}

// CreateKey makes an API key. The answer's Value is the only time that it is
// shown. It is not sent twice: an answer to the second attempt would lack the
// value. Errors: invalid, forbidden for scopes that the asking key lacks.
func (c *Client) CreateKey(ctx context.Context, req berth.KeyRequest) (berth.IssuedKey, error) {
	return c.createKey(ctx, call{method: http.MethodPost, path: "/keys"}, req)
}

// CreateKeyOnce is CreateKey with an idempotency key of the caller's: the same one
// makes one key within 24 hours, whose Value only the first answer has.
func (c *Client) CreateKeyOnce(ctx context.Context, key string, req berth.KeyRequest) (berth.IssuedKey, error) {
	return c.createKey(ctx, call{method: http.MethodPost, path: "/keys"}.keyed(key), req)
}

func (c *Client) createKey(ctx context.Context, k call, req berth.KeyRequest) (berth.IssuedKey, error) {
	var out berth.IssuedKey
	k, err := k.withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// DeleteKey takes a key's id or a unique prefix of 6 characters or more. Errors:
// not_found, conflict (several keys begin so).
func (c *Client) DeleteKey(ctx context.Context, id berth.KeyID) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("keys", string(id))}, nil)
	return err
}
