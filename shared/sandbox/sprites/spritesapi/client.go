// Package spritesapi speaks the API of sprites.dev: sprites, their files, rules and
// checkpoints over HTTP, and commands over WebSocket.
package spritesapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// DefaultURL is the hosted service.
const DefaultURL = "https://api.sprites.dev"

// Config is what a Client needs. Token is required.
type Config struct {
	// URL is the base; DefaultURL when empty.
	URL string
	// Token is asked for each request: it may be replaced at any time.
	Token func(ctx context.Context) (berth.SecretValue, error)
	// HTTP makes the requests, without a timeout of its own; a fresh one when nil.
	HTTP  *http.Client
	Clock berth.Clock // the system's when nil
	Pace  Pace
}

// Pace says how long things are waited for. Zero fields are as they say.
type Pace struct {
	// Call bounds one request: 30 s. Create, which may wait for room, has 2 minutes.
	Call, Create time.Duration
	// Write bounds one write of a file: 1 minute.
	Write time.Duration
	// FirstPause comes before the first repetition: 500 ms; it doubles.
	FirstPause time.Duration
	// LongestWait is what a rate limit may ask for before the caller is told: 20 s.
	LongestWait time.Duration
}

// Client calls one account's API. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
}

// New checks the URL. Error: invalid.
func New(c Config) (*Client, error) {
	if c.URL == "" {
		c.URL = DefaultURL
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, berth.Errorf(berth.CodeInvalid, "the URL of the Sprites API must be such as %s", DefaultURL)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	if c.Token == nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the Sprites API needs a token")
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	// The token must not follow a redirect to wherever it leads.
	unled := *c.HTTP
	unled.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTP = &unled
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	for _, p := range []struct {
		field *time.Duration
		usual time.Duration
	}{
		{&c.Pace.Call, 30 * time.Second},
		{&c.Pace.Create, 2 * time.Minute},
		{&c.Pace.Write, time.Minute},
		{&c.Pace.FirstPause, 500 * time.Millisecond},
		{&c.Pace.LongestWait, 20 * time.Second},
	} {
		if *p.field == 0 {
			*p.field = p.usual
		}
	}
	return &Client{config: c, base: base}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.config.HTTP.CloseIdleConnections() }

// Token is the one in use now.
func (c *Client) Token(ctx context.Context) (berth.SecretValue, error) {
	token, err := c.config.Token(ctx)
	if err != nil {
		return token, berth.Wrap(err, "reading the Sprites token")
	}
	if token.Len() == 0 || strings.ContainsAny(string(token.Reveal()), " \t\r\n") {
		return token, berth.Errorf(berth.CodeInvalid, "the Sprites token is empty, or has white space in it")
	}
	return token, nil
}

func (c *Client) at(query url.Values, parts ...string) string {
	u := *c.base
	for _, part := range parts {
		u.Path += "/" + part // names are slugs, and routes are ours
	}
	u.RawQuery = query.Encode()
	return u.String()
}
