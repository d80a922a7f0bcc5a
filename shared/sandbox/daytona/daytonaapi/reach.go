package daytonaapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// Reach asks for something, once and without the key. Whatever is answered, the
// control plane has been reached. Error: unavailable with the cause in its words.
func (c *Client) Reach(ctx context.Context) error {
	k := get("/health", nil)
	req, err := http.NewRequestWithContext(ctx, k.method, c.base.String()+k.path, nil)
	if err != nil {
		return fmt.Errorf("making a request to Daytona: %w", err)
	}
	resp, err := c.http.Do(req)
	if err == nil {
		return resp.Body.Close()
	}
	err = c.broken(ctx, k, err)
	var failed *failure
	if !errors.As(err, &failed) {
		return err
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: failed.err.Error(),
		Remediation: "Check the URL of Daytona's API that the server was given, and the server's network.",
	}
}
