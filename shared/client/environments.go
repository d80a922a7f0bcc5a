package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// Environment is an environment with the ETag that a change of it has to carry.
type Environment struct {
	berth.Environment
	ETag string `json:"-"`
}

func (c *Client) environment(ctx context.Context, k call) (Environment, error) {
	var e Environment
	header, err := c.do(ctx, k, &e.Environment)
	e.ETag = header.Get("ETag")
	return e, err
}

// ListEnvironments lists in the order of ids; `local` comes last, where it is on.
func (c *Client) ListEnvironments(ctx context.Context, page Page) (berth.List[berth.Environment], error) {
	return listOf[berth.Environment](ctx, c, "/environments", page)
}

// FindEnvironment returns not_found.
func (c *Client) FindEnvironment(ctx context.Context, id berth.EnvironmentID) (Environment, error) {
	return c.environment(ctx, get(route("environments", string(id))))
}

// CreateEnvironment sends any JSON form of an environment: a berth.Environment,
// or a map or json.RawMessage with the fields that are set. Errors: invalid, conflict.
func (c *Client) CreateEnvironment(ctx context.Context, environment any) (Environment, error) {
	k, err := call{method: http.MethodPost, path: "/environments"}.keyed("").withJSON(environment)
	if err != nil {
		return Environment{}, err
	}
	return c.environment(ctx, k)
}

// ReplaceEnvironment returns stale when etag is not the present one.
func (c *Client) ReplaceEnvironment(ctx context.Context, id berth.EnvironmentID, etag string, environment any) (Environment, error) {
	k, err := call{method: http.MethodPut, path: route("environments", string(id))}.with("If-Match", etag).withJSON(environment)
	if err != nil {
		return Environment{}, err
	}
	return c.environment(ctx, k)
}

// UpdateEnvironment sends a merge patch (RFC 7396): a map or json.RawMessage.
func (c *Client) UpdateEnvironment(ctx context.Context, id berth.EnvironmentID, etag string, patch any) (Environment, error) {
	k, err := call{method: http.MethodPatch, path: route("environments", string(id))}.with("If-Match", etag).withJSON(patch)
	if err != nil {
		return Environment{}, err
	}
	return c.environment(ctx, k.with("Content-Type", "application/merge-patch+json"))
}

// DeleteEnvironment returns stale when etag is not the present one.
func (c *Client) DeleteEnvironment(ctx context.Context, id berth.EnvironmentID, etag string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("environments", string(id))}.with("If-Match", etag), nil)
	return err
}

// CheckEnvironment resolves an environment and asks its provider, without a run.
func (c *Client) CheckEnvironment(ctx context.Context, id berth.EnvironmentID) (berth.Preflight, error) {
	var out berth.Preflight
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("environments", string(id), "check"), repeatable: true}, &out)
	return out, err
}
