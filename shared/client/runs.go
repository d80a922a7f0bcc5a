package client

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// keyed makes a POST safe to repeat. An empty key is made up.
func (k call) keyed(key string) call {
	if key == "" {
		key = rand.Text()
	}
	k.repeatable = true
	return k.with("Idempotency-Key", key)
}

// ListRuns lists newest first.
func (c *Client) ListRuns(ctx context.Context, page Page) (berth.List[berth.RunSummary], error) {
	return listOf[berth.RunSummary](ctx, c, "/runs", page)
}

// FindRun takes a run id or a unique prefix of 6 characters or more. Errors:
// not_found, conflict (several runs begin so).
func (c *Client) FindRun(ctx context.Context, id berth.RunID) (berth.Run, error) {
	var run berth.Run
	_, err := c.do(ctx, get(route("runs", string(id))), &run)
	return run, err
}

// CreateRun submits a run; it happens once, however often the network fails.
func (c *Client) CreateRun(ctx context.Context, req berth.RunRequest) (berth.Run, error) {
	return c.CreateRunOnce(ctx, "", req)
}

// CreateRunOnce is CreateRun with an idempotency key of the caller's: the same
// key gives the same run for 24 hours.
func (c *Client) CreateRunOnce(ctx context.Context, key string, req berth.RunRequest) (berth.Run, error) {
	var run berth.Run
	k, err := call{method: http.MethodPost, path: "/runs"}.keyed(key).withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &run)
	}
	return run, err
}

// Preflight checks a run without starting it.
func (c *Client) Preflight(ctx context.Context, req berth.RunRequest) (berth.Preflight, error) {
	var out berth.Preflight
	k, err := call{method: http.MethodPost, path: "/preflight", repeatable: true}.withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// CancelRun asks for the end of a run; it is a conflict when the run has ended.
func (c *Client) CancelRun(ctx context.Context, id berth.RunID) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("runs", string(id), "cancel"), repeatable: true}, nil)
	return err
}

// DeleteRun removes an ended run; a live one is a conflict.
func (c *Client) DeleteRun(ctx context.Context, id berth.RunID) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("runs", string(id))}, nil)
	return err
}

// ListStages returns all stages of a run, in order.
func (c *Client) ListStages(ctx context.Context, id berth.RunID) ([]berth.Stage, error) {
	var out berth.List[berth.Stage]
	_, err := c.do(ctx, get(route("runs", string(id), "stages")), &out)
	return out.Items, err
}
