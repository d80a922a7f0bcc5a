// Package client is the typed client of berth's HTTP API. Every error that the
// server answered is a [*Failure] around a [*berth.Error].
package client

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Config says which server to talk to and how. BaseURL or Locate is required.
type Config struct {
	// BaseURL is the server's URL, with or without /api/v1.
	BaseURL string
	// Token is the bearer token.
	Token string
	// UserAgent is sent with every request; "berth-client" when empty.
	UserAgent string
	// HTTPClient is used as it is; when nil, one with kept-alive connections is made.
	HTTPClient *http.Client
	// Clock is for back-off; the machine's when nil.
	Clock berth.Clock
	// Patience is how long one call tries to reach a server that refuses
	// connections or is unavailable: 5 s when 0, one attempt when negative.
	Patience time.Duration
	// FollowPatience is the same for the Follow methods, which outlast a restart
	// of the server: 2 min when 0.
	FollowPatience time.Duration
	// Locate finds the server anew before an attempt that follows a failed
	// connection: a restarted server may listen elsewhere.
	Locate func(ctx context.Context) (baseURL, token string, err error)
}

const (
	apiPrefix      = "/api/v1"
	defaultPatient = 5 * time.Second
	followPatient  = 2 * time.Minute
	callTimeout    = 30 * time.Second // of one attempt, beside the wait asked for
)

// Client calls one server. It may be used by many goroutines at once.
type Client struct {
	http           *http.Client
	clock          berth.Clock
	userAgent      string
	patience       time.Duration
	followPatience time.Duration
	locate         func(ctx context.Context) (baseURL, token string, err error)

	mu    sync.Mutex // guards base and token
	base  *url.URL
	token string
}

// New returns invalid for a base URL that is not an absolute http or https one.
func New(cfg Config) (*Client, error) {
	c := &Client{
		http: cfg.HTTPClient, clock: cfg.Clock, userAgent: cfg.UserAgent,
		patience: cfg.Patience, followPatience: cfg.FollowPatience, locate: cfg.Locate, token: cfg.Token,
	}
	if c.http == nil {
		c.http = &http.Client{Transport: newTransport(), CheckRedirect: refuseRedirect}
	}
	if c.clock == nil {
		c.clock = berth.SystemClock{}
	}
	if c.userAgent == "" {
		c.userAgent = "berth-client"
	}
	if c.patience == 0 {
		c.patience = defaultPatient
	}
	if c.followPatience == 0 {
		c.followPatience = followPatient
	}
	if cfg.BaseURL == "" && cfg.Locate != nil {
		return c, nil
	}
	base, err := parseBase(cfg.BaseURL)
	c.base = base
	return c, err
}

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Server is the URL of the server, without the path of its API; empty while it has
// not been located.
func (c *Client) Server() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base == nil {
		return ""
	}
	return strings.TrimSuffix(c.base.String(), apiPrefix)
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// refuseRedirect keeps the token with the server that it was given for: berth
// itself never redirects.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") || base.RawQuery != "" || base.Fragment != "" {
		return nil, berth.Errorf(berth.CodeInvalid, "the server's URL %q must be like http://127.0.0.1:8080 or https://host/stage", raw)
	}
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), apiPrefix) + apiPrefix
	base.RawPath = ""
	return base, nil
}

// endpoint is where calls go at present.
func (c *Client) endpoint(ctx context.Context, anew bool) (*url.URL, string, error) {
	c.mu.Lock()
	base, token := c.base, c.token
	c.mu.Unlock()
	if c.locate == nil || (base != nil && !anew) {
		return base, token, nil
	}
	raw, token, err := c.locate(ctx)
	if err != nil {
		return nil, "", err
	}
	base, err = parseBase(raw)
	if err != nil {
		return nil, "", err
	}
	c.mu.Lock()
	c.base, c.token = base, token
	c.mu.Unlock()
	return base, token, nil
}
