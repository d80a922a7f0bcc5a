package remote

import (
	"context"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

var _ berth.Ticketer = (*Provider)(nil)

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
