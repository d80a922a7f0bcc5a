package spritesapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Running is the status of a sprite that is awake. One that is warm, or cold as a
// new one is, is as ready: the next command wakes it.
const Running = "running"

// Sprite is a machine of the service.
type Sprite struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Organization string      `json:"organization"`
	Status       string      `json:"status"`
	URL          string      `json:"url"`
	URLSettings  URLSettings `json:"url_settings"`
	Labels       []string    `json:"labels"`
	CreatedAt    time.Time   `json:"created_at"`
}

// URLSettings say who may open a sprite's URL: sprite, its organisation, or public.
type URLSettings struct {
	Auth string `json:"auth,omitempty"`
}

// Creation is a new sprite.
type Creation struct {
	Name            string       `json:"name"`
	Labels          []string     `json:"labels,omitempty"`
	URLSettings     *URLSettings `json:"url_settings,omitempty"`
	WaitForCapacity bool         `json:"wait_for_capacity"`
}

// Create makes a sprite. It is sent once: after unavailable the sprite may be
// there. Errors: invalid, also for a name that is taken; rate_limited.
func (c *Client) Create(ctx context.Context, n Creation) (Sprite, error) {
	var s Sprite
	err := c.do(ctx, request{method: http.MethodPost, url: c.at(nil, "v1", "sprites"), body: n, once: true, limit: c.config.Pace.Create}, &s)
	return s, err
}

// Find returns a sprite by its name. Error: not_found.
func (c *Client) Find(ctx context.Context, name string) (Sprite, error) {
	var s Sprite
	err := c.do(ctx, request{method: http.MethodGet, url: c.at(nil, "v1", "sprites", name)}, &s)
	return s, err
}

const pageSize = 50

// List returns all sprites of the organisation whose name has a prefix.
func (c *Client) List(ctx context.Context, prefix string) ([]Sprite, error) {
	var all []Sprite
	query := url.Values{"max_results": {strconv.Itoa(pageSize)}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	for {
		var page struct {
			Sprites []Sprite `json:"sprites"`
			More    bool     `json:"has_more"`
			Next    string   `json:"next_continuation_token"`
		}
		if err := c.do(ctx, request{method: http.MethodGet, url: c.at(query, "v1", "sprites")}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Sprites...)
		if !page.More || page.Next == "" || page.Next == query.Get("continuation_token") {
			return all, nil
		}
		query.Set("continuation_token", page.Next)
	}
}

// SetLabels replaces a sprite's labels.
func (c *Client) SetLabels(ctx context.Context, name string, labels []string) error {
	var change struct {
		Labels []string `json:"labels,omitempty"`
		Clear  bool     `json:"clear_labels,omitempty"`
	}
	change.Labels, change.Clear = labels, len(labels) == 0
	return c.do(ctx, request{method: http.MethodPut, url: c.at(nil, "v1", "sprites", name), body: change}, nil)
}

// Delete ends a sprite and all that is on it. Error: not_found.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.do(ctx, request{method: http.MethodDelete, url: c.at(nil, "v1", "sprites", name)}, nil)
}

// Write replaces a file and makes its parent folders.
func (c *Client) Write(ctx context.Context, name, path string, data []byte, mode string) error {
	query := url.Values{"path": {path}, "workingDir": {"/"}, "mode": {mode}, "mkdirParents": {"true"}}
	return c.do(ctx, request{
		method: http.MethodPut, url: c.at(query, "v1", "sprites", name, "fs", "write"), raw: data, limit: c.config.Pace.Write, plain: true,
	}, nil)
}
