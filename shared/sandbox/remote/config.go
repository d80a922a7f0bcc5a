package remote

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// Config is what a Provider needs. All but Credentials, Patience and Clock are
// required.
type Config struct {
	// URL is the agent's address, https://host:port.
	URL string
	// Fingerprint is of the agent's certificate; nothing else is trusted.
	Fingerprint agentapi.Fingerprint
	Token       string
	// Kind is which of the agent's providers this one stands for.
	Kind         berth.ProviderKind
	Installation berth.InstallationID
	// Credentials finds those of a registry, such as docker.io or host:5000, for the
	// agent to pull with. An answer that names no registry leaves it what it has.
	Credentials func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error)
	// Patience is how long a call is repeated while no connection holds: 3 s when
	// zero, not at all when negative.
	Patience time.Duration
	Clock    berth.Clock // the system's when nil
}

const usualPatience = 3 * time.Second

// Provider talks to one agent. It is safe for concurrent use.
type Provider struct {
	config Config
	base   string // scheme and host
	host   string
	// once is for calls that must not be sent twice: each has a connection of its
	// own, so that none fails because an idle one had ended.
	kept, once *http.Client
}

var _ berth.Provider = (*Provider)(nil)

// New does not connect. Error: invalid for a URL or a token that can be none.
func New(config Config) (*Provider, error) {
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.Patience == 0 {
		config.Patience = usualPatience
	}
	u, err := url.Parse(config.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Field: "url", Message: "must be the host agent's address, such as https://10.0.0.7:7443",
			Remediation: "berth-agent prints its address when it starts.",
		}
	}
	if config.Token == "" || strings.ContainsFunc(config.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "token", "must be the agent's token: visible ASCII without blanks")
	}
	p := &Provider{config: config, base: "https://" + u.Host, host: u.Host}
	p.kept, p.once = &http.Client{Transport: p.transport(true)}, &http.Client{Transport: p.transport(false)}
	for _, c := range []*http.Client{p.kept, p.once} {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return p, nil
}

// Kind is that of the agent's provider.
func (p *Provider) Kind() berth.ProviderKind { return p.config.Kind }

// Close ends idle connections. The agent and its sandboxes go on.
func (p *Provider) Close() error {
	p.kept.CloseIdleConnections()
	p.once.CloseIdleConnections()
	return nil
}
