package spritesapi

import (
	"context"
	"net/http"
)

// Rule is one of a sprite's network: about a domain, or one that includes others.
type Rule struct {
	Domain  string `json:"domain,omitempty"`
	Action  string `json:"action,omitempty"` // allow or deny
	Include string `json:"include,omitempty"`
}

// DenyAll blocks the whole network.
func DenyAll() []Rule { return []Rule{{Domain: "*", Action: "deny"}} }

type policy struct {
	Rules []Rule `json:"rules"`
}

// NetworkRules returns a sprite's rules; none is an open network.
func (c *Client) NetworkRules(ctx context.Context, name string) ([]Rule, error) {
	var p policy
	err := c.do(ctx, request{method: http.MethodGet, url: c.at(nil, "v1", "sprites", name, "policy", "network")}, &p)
	return p.Rules, err
}

// SetNetworkRules replaces a sprite's rules.
func (c *Client) SetNetworkRules(ctx context.Context, name string, rules []Rule) error {
	return c.do(ctx, request{method: http.MethodPost, url: c.at(nil, "v1", "sprites", name, "policy", "network"), body: policy{rules}}, nil)
}
