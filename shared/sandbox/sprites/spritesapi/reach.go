package spritesapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/berth-dev/berth/shared/berth"
)

// Reach asks for something, once and without the token. Whatever is answered, the
// API has been reached. Error: unavailable with the cause in its words.
func (c *Client) Reach(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.at(nil, "v1", "sprites"), nil)
	if err != nil {
		return berth.Wrap(err, "making a request to Sprites")
	}
	res, err := c.config.HTTP.Do(req)
	switch {
	case err == nil:
		return res.Body.Close()
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	why := "it did not answer in time"
	var address *url.Error
	if ctx.Err() == nil && errors.As(err, &address) {
		why = address.Err.Error()
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "Sprites at " + c.base.Host + " cannot be reached: " + why,
		Remediation: "Check the URL of the Sprites API that the server was given, and the server's network.",
	}
}
