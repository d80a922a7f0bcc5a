package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// ListVariables lists in the order of names.
func (c *Client) ListVariables(ctx context.Context, page Page) (berth.List[berth.Variable], error) {
	return listOf[berth.Variable](ctx, c, "/variables", page)
}

// FindVariable returns not_found.
func (c *Client) FindVariable(ctx context.Context, name string) (berth.Variable, error) {
	var v berth.Variable
	_, err := c.do(ctx, get(route("variables", name)), &v)
	return v, err
}

// PutVariable creates or replaces; with createOnly an existing one is stale.
func (c *Client) PutVariable(ctx context.Context, name, value string, createOnly bool) (berth.Variable, error) {
	var v berth.Variable
	err := c.put(ctx, route("variables", name), berth.VariableRequest{Value: value}, createOnly, &v)
	return v, err
}

// DeleteVariable returns not_found.
func (c *Client) DeleteVariable(ctx context.Context, name string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("variables", name)}, nil)
	return err
}

// ListSecrets lists metadata in the order of names.
func (c *Client) ListSecrets(ctx context.Context, page Page) (berth.List[berth.Secret], error) {
	return listOf[berth.Secret](ctx, c, "/secrets", page)
}

// FindSecret returns a secret's metadata, or not_found.
func (c *Client) FindSecret(ctx context.Context, name string) (berth.Secret, error) {
	var v berth.Secret
	_, err := c.do(ctx, get(route("secrets", name)), &v)
	return v, err
}

// PutSecret creates or replaces; with createOnly an existing one is stale.
func (c *Client) PutSecret(ctx context.Context, name string, secret berth.SecretRequest, createOnly bool) (berth.Secret, error) {
	var v berth.Secret
	err := c.put(ctx, route("secrets", name), secret, createOnly, &v)
	return v, err
}

// DeleteSecret returns not_found.
func (c *Client) DeleteSecret(ctx context.Context, name string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("secrets", name)}, nil)
	return err
}

// put is an upsert. Creation only is not repeated: the second attempt would
// meet what the first one made.
func (c *Client) put(ctx context.Context, path string, body any, createOnly bool, out any) error {
	k, err := call{method: http.MethodPut, path: path, repeatable: !createOnly}.withJSON(body)
	if err != nil {
		return err
	}
	if createOnly {
		k = k.with("If-None-Match", "*")
	}
	_, err = c.do(ctx, k, out)
	return err
}
