package main

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// enter finds the sandbox that a person wants into, by its shell or by a port, and
// stays connected to the server meanwhile: tickets run out.
func (a *app) enter(ctx context.Context, arg, ttl string, in func(c *client.Client, id berth.SandboxID, ttl berth.Duration) error) error {
	life, err := span("ttl", ttl)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	sandbox, err := a.findReady(ctx, c, arg, nil)
	if err != nil {
		return err
	}
	return in(c, sandbox.ID, life)
}
