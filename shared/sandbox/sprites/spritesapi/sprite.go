package spritesapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
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

func (s *Sprite) isWhole() bool { return s.Name != "" }

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

const (
	pageSize = 50
	maxPages = 2000 // a list that goes on for longer has no end
)

// page is one of a list.
type page struct {
	Sprites sprites `json:"sprites"`
	More    bool    `json:"has_more"`
	Next    string  `json:"next_continuation_token"`
}

func (p *page) isWhole() bool { return p.Sprites.told && (!p.More || p.Next != "") }

// sprites may be none, which is told all the same, as [] or null.
type sprites struct {
	all  []Sprite
	told bool
}

func (s *sprites) UnmarshalJSON(b []byte) error {
	s.told = true
	if err := json.Unmarshal(b, &s.all); err != nil {
		return err
	}
	if slices.ContainsFunc(s.all, func(one Sprite) bool { return one.Name == "" }) {
		s.told = false
	}
	return nil
}

// List returns all sprites of the organisation whose name has a prefix, or an
// error: what a list leaves out would be taken for gone. Error: unavailable for one
// without an end.
func (c *Client) List(ctx context.Context, prefix string) ([]Sprite, error) {
	var all []Sprite
	query := url.Values{"max_results": {strconv.Itoa(pageSize)}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	for range maxPages {
		var got page
		if err := c.do(ctx, request{method: http.MethodGet, url: c.at(query, "v1", "sprites")}, &got); err != nil {
			return nil, err
		}
		all = append(all, got.Sprites.all...)
		if !got.More {
			return all, nil
		}
		if got.Next == query.Get("continuation_token") {
			break
		}
		query.Set("continuation_token", got.Next)
	}
	return nil, berth.Errorf(berth.CodeUnavailable, "the list of %s has no end", c.base.Host)
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
