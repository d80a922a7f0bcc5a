package agentapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/tunnel"
)

// StreamPath is where clients open streams with a ticket. It is for whoever has
// one: neither the token nor an installation is asked for.
const StreamPath = prefix + "/stream"

// TicketRequest is a berth.StreamSpec, for which a ticket is asked.
type TicketRequest struct {
	Kind     berth.StreamKind `json:"kind"`
	Port     int              `json:"port,omitempty"`
	Env      []Variable       `json:"env,omitempty"`
	Mask     []Secret         `json:"mask,omitempty"`
	Terminal string           `json:"terminal,omitempty"`
	Window   berth.Window     `json:"window"`
	TTL      time.Duration    `json:"ttl,omitempty"` // nanoseconds
}

// TicketRequestOf converts to the wire.
func TicketRequestOf(spec berth.StreamSpec, ttl time.Duration) TicketRequest {
	command := CommandOf(berth.CommandSpec{Env: spec.Env, Mask: spec.Mask})
	return TicketRequest{spec.Kind, spec.Port, command.Env, command.Mask, spec.Terminal, spec.Window, ttl}
}

// Spec converts from the wire.
func (r TicketRequest) Spec() berth.StreamSpec {
	command := Command{Env: r.Env, Mask: r.Mask}.Spec("")
	return berth.StreamSpec{Kind: r.Kind, Port: r.Port, Env: command.Env, Mask: command.Mask, Terminal: r.Terminal, Window: r.Window}
}

// Ticket answers with one. Its holder knows the agent's address and certificate
// from elsewhere.
type Ticket struct {
	Value     wire.Text `json:"value"`
	ExpiresAt time.Time `json:"expires_at"`
}

// issueTicket gives out a ticket for a sandbox that is there.
func issueTicket(x *exchange) error {
	var request TicketRequest
	if err := x.decode(&request); err != nil {
		return err
	}
	open, err := x.opener()
	if err != nil {
		return err
	}
	ticket, err := x.server.tickets.Issue(request.Spec(), request.TTL, open)
	if err != nil {
		return err
	}
	return x.answer(Ticket{wire.Text(ticket.Value), ticket.ExpiresAt})
}

// opener opens streams into a sandbox that is there.
func (x *exchange) opener() (tunnel.Opener, error) {
	streamer, ok := x.provider.(berth.Streamer)
	if !ok {
		return nil, berth.Errorf(berth.CodeUnsupported, "the provider %s opens no streams", x.provider.Kind())
	}
	state, err := x.provider.Describe(x.r.Context(), x.ref)
	switch {
	case err != nil:
		return nil, err
	case state.Status == berth.SandboxGone:
		return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	case state.Status != berth.SandboxReady:
		return nil, berth.Errorf(berth.CodeConflict, "the sandbox is %s", state.Status)
	}
	ref := x.ref
	return func(ctx context.Context, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
		return streamer.OpenStream(ctx, ref, spec)
	}, nil
}

// serveStream carries a stream for who has a ticket.
func (x *exchange) serveStream() {
	x.route = route{method: x.r.Method, pattern: StreamPath}
	if err := x.server.tickets.Serve(x.w, x.r); err != nil {
		x.fail(err)
		return
	}
	if x.status == 0 {
		x.status = http.StatusSwitchingProtocols
	}
}
