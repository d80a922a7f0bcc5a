package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// StartCommand starts a process in a sandbox; it happens once, however often
// the network fails.
func (c *Client) StartCommand(ctx context.Context, sandbox berth.SandboxID, req berth.CommandRequest) (berth.Command, error) {
	var out berth.Command
	k, err := call{method: http.MethodPost, path: route("sandboxes", string(sandbox), "commands")}.keyed("").withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// FindCommand returns a command as it stands now.
func (c *Client) FindCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID) (berth.Command, error) {
	var out berth.Command
	_, err := c.do(ctx, get(route("sandboxes", string(sandbox), "commands", string(id))), &out)
	return out, err
}

// WriteInput appends data at offset to a command's standard input, at most 2
// MiB at once, and returns the offset that has been reached.
func (c *Client) WriteInput(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID, req berth.StdinRequest) (int64, error) {
	var out berth.StdinReply
	path := route("sandboxes", string(sandbox), "commands", string(id), "stdin")
	k, err := call{method: http.MethodPost, path: path, repeatable: true, patience: c.followPatience}.withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out.NextOffset, err
}

// SignalCommand sends a signal by its name, without SIG; CANCEL ends the whole
// process tree.
func (c *Client) SignalCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID, signal string) error {
	path := route("sandboxes", string(sandbox), "commands", string(id), "signal")
	k, err := call{method: http.MethodPost, path: path}.keyed("").withJSON(berth.SignalRequest{Signal: signal})
	if err == nil {
		_, err = c.do(ctx, k, nil)
	}
	return err
}
