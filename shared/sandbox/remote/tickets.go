package remote

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

var (
	_ berth.Ticketer  = (*Provider)(nil)
	_ berth.Previewer = (*Provider)(nil)
)

// Preview has the agent give out a URL for browsers. Error: unsupported by an agent
// without a public URL.
func (p *Provider) Preview(ctx context.Context, ref berth.SandboxRef, port int, ttl time.Duration) (string, error) {
	var answer agentapi.Preview
	k := p.call(http.MethodPost, agentapi.SandboxPath(p.config.Kind, ref.ID, "previews"), ref)
	if err := p.exchange(ctx, k, agentapi.PreviewRequest{Port: port, TTL: ttl}, &answer); err != nil {
		return "", err
	}
	if u, err := url.Parse(answer.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", p.foreign("with a URL of a preview that is none")
	}
	return answer.URL, nil
}

// IssueTicket has the agent give out a ticket, for clients that reach its address
// themselves.
func (p *Provider) IssueTicket(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec, ttl time.Duration) (berth.Ticket, error) {
	var t agentapi.Ticket
	k := p.call(http.MethodPost, agentapi.SandboxPath(p.config.Kind, ref.ID, "tickets"), ref)
	if err := p.exchange(ctx, k, agentapi.TicketRequestOf(spec, ttl), &t); err != nil {
		return berth.Ticket{}, err
	}
	return berth.Ticket{
		Value: string(t.Value), URL: p.base + agentapi.StreamPath, Fingerprint: p.config.Fingerprint.String(), ExpiresAt: t.ExpiresAt,
	}, nil
}
