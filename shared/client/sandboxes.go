package client

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// ListSandboxes lists oldest first.
func (c *Client) ListSandboxes(ctx context.Context, page Page) (berth.List[berth.Sandbox], error) {
	return listOf[berth.Sandbox](ctx, c, "/sandboxes", page)
}

// FindSandbox takes a sandbox id or a unique prefix of 6 characters or more.
func (c *Client) FindSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	return c.sandbox(ctx, get(route("sandboxes", string(id))))
}

// StopSandbox ends all commands and keeps the files.
func (c *Client) StopSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	return c.sandbox(ctx, call{method: http.MethodPost, path: route("sandboxes", string(id), "stop"), repeatable: true})
}

// StartSandbox makes a stopped sandbox ready again.
func (c *Client) StartSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	return c.sandbox(ctx, call{method: http.MethodPost, path: route("sandboxes", string(id), "start"), repeatable: true})
}

// DestroySandbox leaves nothing of it behind; one that a live run uses is a conflict.
func (c *Client) DestroySandbox(ctx context.Context, id berth.SandboxID) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("sandboxes", string(id)), repeatable: true}, nil)
	return err
}

// ForgetSandbox is DestroySandbox for one whose provider may be gone for good: where
// that does not destroy it, its reason says what may be left and where.
func (c *Client) ForgetSandbox(ctx context.Context, id berth.SandboxID) error {
	k := call{method: http.MethodDelete, path: route("sandboxes", string(id)), repeatable: true}.param("force", "true")
	_, err := c.do(ctx, k, nil)
	return err
}

// OpenShell finds the way to a shell in a sandbox: a command line, or a ticket.
func (c *Client) OpenShell(ctx context.Context, id berth.SandboxID, req berth.ShellRequest) (berth.ShellAccess, error) {
	var out berth.ShellAccess
	err := c.open(ctx, id, "ssh", req, &out)
	return out, err
}

// OpenPreview finds the way to a port in a sandbox: a URL, or a ticket.
func (c *Client) OpenPreview(ctx context.Context, id berth.SandboxID, req berth.PreviewRequest) (berth.PreviewAccess, error) {
	var out berth.PreviewAccess
	err := c.open(ctx, id, "preview", req, &out)
	return out, err
}

// open may be sent twice: a way that nobody takes ends by itself.
func (c *Client) open(ctx context.Context, id berth.SandboxID, what string, req, out any) error {
	k, err := call{method: http.MethodPost, path: route("sandboxes", string(id), what), repeatable: true}.withJSON(req)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, k, out)
	return err
}

func (c *Client) sandbox(ctx context.Context, k call) (berth.Sandbox, error) {
	var out berth.Sandbox
	_, err := c.do(ctx, k, &out)
	return out, err
}
