// Package daytonaapi is a thin client of Daytona: the control plane and the
// toolbox inside one sandbox. It knows routes, limits and failures, and nothing
// of how berth uses sandboxes.
package daytonaapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// DefaultURL is the hosted control plane.
const DefaultURL = "https://app.daytona.io/api"

// sdkVersion is what the toolbox is told of the client: from 0.167.0 on it
// answers logs as JSON.
const sdkVersion = "0.205.1"

// Config is what a Client needs. Key is required.
type Config struct {
	// URL is the control plane's base; DefaultURL when empty.
	URL string
	// Key is asked for each request, so that a new one works at once.
	Key func(ctx context.Context) (berth.SecretValue, error)
	// UserAgent is sent with each request.
	UserAgent string
	// Transport carries the requests; a fresh one when nil.
	Transport http.RoundTripper
	// Patience bounds how long one call is repeated; 2 minutes when zero.
	Patience time.Duration
	// FirstPause is the first rest between two tries; 500 ms when zero. Pauses
	// double up to ten times as much.
	FirstPause time.Duration
	Clock      berth.Clock // the system's when nil
}

const (
	usualPatience   = 2 * time.Minute
	usualFirstPause = 500 * time.Millisecond
)

// Client talks to one account. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
}

// New does not connect. Error: invalid for a URL that can be none.
func New(config Config) (*Client, error) {
	if config.URL == "" {
		config.URL = DefaultURL
	}
	if config.Patience == 0 {
		config.Patience = usualPatience
	}
	if config.FirstPause == 0 {
		config.FirstPause = usualFirstPause
	}
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Transport == nil {
		config.Transport = newTransport()
	}
	base, err := url.Parse(strings.TrimRight(config.URL, "/"))
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Field: "url", Message: "must be the base of Daytona's API, such as " + DefaultURL,
		}
	}
	return &Client{config: config, base: base, http: &http.Client{
		Transport: config.Transport,
		// The key must not follow a redirect to wherever it leads.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Host is the control plane's address, for messages.
func (c *Client) Host() string { return c.base.Host }
