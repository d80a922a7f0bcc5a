package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// ListHosts lists in the order of ids.
func (c *Client) ListHosts(ctx context.Context, page Page) (berth.List[berth.Host], error) {
	return listOf[berth.Host](ctx, c, "/hosts", page)
}

// FindHost returns not_found.
func (c *Client) FindHost(ctx context.Context, id berth.HostID) (berth.Host, error) {
	var h berth.Host
	_, err := c.do(ctx, get(route("hosts", string(id))), &h)
	return h, err
}

// AddHost makes the token that a host joins with. It is not sent twice: an answer
// to the second attempt would lack the token. Errors: invalid; conflict when the
// host has joined.
func (c *Client) AddHost(ctx context.Context, req berth.HostRequest) (berth.JoinToken, error) {
	var out berth.JoinToken
	k, err := call{method: http.MethodPost, path: "/hosts"}.withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// DrainHost lets a host take no new sandbox, or take them again.
func (c *Client) DrainHost(ctx context.Context, id berth.HostID, draining bool) (berth.Host, error) {
	var h berth.Host
	k, err := call{method: http.MethodPost, path: route("hosts", string(id), "drain"), repeatable: true}.withJSON(berth.DrainRequest{Draining: draining})
	if err == nil {
		_, err = c.do(ctx, k, &h)
	}
	return h, err
}

// RemoveHost takes a host out; with force also while sandboxes are on it, whose
// runs are lost then. Errors: not_found, conflict.
func (c *Client) RemoveHost(ctx context.Context, id berth.HostID, force bool) error {
	k := call{method: http.MethodDelete, path: route("hosts", string(id))}
	if force {
		k = k.param("force", "true")
	}
	_, err := c.do(ctx, k, nil)
	return err
}

// JoinHost is what a host agent sends with a join token, which is good once: it is
// not sent twice. Errors: invalid, with what is wrong with the host or with the
// way to it; unauthenticated, conflict for the token.
func (c *Client) JoinHost(ctx context.Context, join berth.HostJoin) (berth.JoinedHost, error) {
	var out berth.JoinedHost
	k, err := call{method: http.MethodPost, path: "/hosts/join"}.withJSON(join)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// BeatHost sends a host's heartbeat, with the host's own key.
func (c *Client) BeatHost(ctx context.Context, id berth.HostID, beat berth.Heartbeat) error {
	return c.tell(ctx, route("hosts", string(id), "heartbeat"), beat)
}

// NudgeHost tells that a command on a host has spoken or ended, with the host's
// own key.
func (c *Client) NudgeHost(ctx context.Context, id berth.HostID, nudge berth.Nudge) error {
	return c.tell(ctx, route("hosts", string(id), "nudge"), nudge)
}

// tell posts what may arrive twice and is answered with nothing.
func (c *Client) tell(ctx context.Context, path string, v any) error {
	k, err := call{method: http.MethodPost, path: path, repeatable: true}.withJSON(v)
	if err == nil {
		_, err = c.do(ctx, k, nil)
	}
	return err
}
