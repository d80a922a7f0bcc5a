package client

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// Health asks whether the server answers; it needs no token.
func (c *Client) Health(ctx context.Context) (berth.Health, error) {
	var out berth.Health
	_, err := c.do(ctx, get("/health"), &out)
	return out, err
}

// Version asks which berth answers; it needs no token.
func (c *Client) Version(ctx context.Context) (berth.Version, error) {
	var out berth.Version
	_, err := c.do(ctx, get("/version"), &out)
	return out, err
}

// WhoAmI asks who the token stands for.
func (c *Client) WhoAmI(ctx context.Context) (berth.Principal, error) {
	var out berth.Principal
	_, err := c.do(ctx, get("/whoami"), &out)
	return out, err
}
