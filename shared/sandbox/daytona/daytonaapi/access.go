package daytonaapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// SSHAccess is a way in for a while. Its command holds the token: it is a secret.
type SSHAccess struct {
	Token     string    `json:"token"`
	Command   string    `json:"sshCommand"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateSSHAccess revokes earlier accesses of the sandbox.
func (c *Client) CreateSSHAccess(ctx context.Context, idOrName string, minutes int) (a SSHAccess, err error) {
	err = c.exchange(ctx, call{
		method: http.MethodPost, path: sandboxPath(idOrName, "ssh-access"), again: true, changes: true,
		query: url.Values{"expiresInMinutes": {strconv.Itoa(minutes)}},
	}, &a)
	return a, err
}

// SignedPreviewURL lets whoever has it open a port for that many seconds.
func (c *Client) SignedPreviewURL(ctx context.Context, idOrName string, port, seconds int) (string, error) {
	var p struct {
		URL string `json:"url"`
	}
	query := url.Values{"expiresInSeconds": {strconv.Itoa(seconds)}}
	err := c.exchange(ctx, get(sandboxPath(idOrName, "ports", strconv.Itoa(port), "signed-preview-url"), query), &p)
	return p.URL, err
}

// ToolboxProxyURL is for sandboxes that do not say it themselves.
func (c *Client) ToolboxProxyURL(ctx context.Context, id string) (string, error) {
	var p struct {
		URL string `json:"url"`
	}
	err := c.exchange(ctx, get(sandboxPath(id, "toolbox-proxy-url"), nil), &p)
	return p.URL, err
}

// tail reads a log at an address that the control plane gave. It reads what is
// there and does not wait for more.
func (c *Client) tail(ctx context.Context, address string, last int) (string, error) {
	base, err := c.trusted(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	k := call{method: http.MethodGet, base: base, again: true}
	resp, err := c.send(ctx, k)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && len(body) == 0 {
		return "", c.broken(ctx, k, err)
	}
	if len(body) > last {
		body = body[len(body)-last:]
	}
	return strings.ToValidUTF8(string(body), ""), nil
}

// trusted refuses an address to which the key must not be sent.
func (c *Client) trusted(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("daytona names an address that is none")
	case u.Scheme == "http" && c.base.Scheme == "https":
		return "", fmt.Errorf("daytona names an address without TLS, at %s: the API key is not sent there", u.Host)
	}
	return strings.TrimRight(address, "/"), nil
}
