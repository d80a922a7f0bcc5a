package control

import (
	"context"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Ticketing gives out tickets for streams that the server itself carries.
type Ticketing interface {
	Issue(spec berth.StreamSpec, ttl time.Duration, open func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error)) (berth.Ticket, error)
}

// OpenShell finds the way to a shell in a ready sandbox: a ticket for a shell with the
// variables that a command would get, or else the provider's command line, whose shell
// has none of them. A ticket without a URL is for the server itself. Errors: conflict;
// invalid; unsupported, with what to do.
func (p *Plane) OpenShell(ctx context.Context, sb berth.Sandbox, req berth.ShellRequest) (berth.ShellAccess, error) {
	access := berth.ShellAccess{Sandbox: sb.ID}
	spec := berth.StreamSpec{Kind: berth.StreamShell, Terminal: req.Terminal, Window: req.Window}
	provider, ref, ttl, err := p.openable(sb, spec, req.TTL)
	if err != nil {
		return access, err
	}
	streams, err := p.streams(ctx, provider, ref)
	opener, opens := provider.(berth.ShellOpener)
	switch {
	case err != nil:
		return access, p.gone(ctx, sb, err)
	case !streams && opens:
		access.Command, err = opener.OpenShell(ctx, ref, ttl)
		return access, p.gone(ctx, sb, err)
	case !streams:
		return access, noStream(sb, "a shell")
	}
	resolved, err := p.commandSpec(ctx, sb, berth.CommandRequest{})
	if err != nil {
		return access, err
	}
	spec.Env, spec.Mask = resolved.Env, resolved.Mask
	access.Ticket, err = p.ticket(ctx, provider, sb, spec, ttl)
	return access, err
}

// OpenPreview finds the way to a port in a ready sandbox: a URL for browsers, or a
// ticket. Unless the request says which, it is a ticket where there is no URL.
// Errors: as OpenShell.
func (p *Plane) OpenPreview(ctx context.Context, sb berth.Sandbox, req berth.PreviewRequest) (berth.PreviewAccess, error) {
	access := berth.PreviewAccess{Sandbox: sb.ID, Port: req.Port}
	spec := berth.StreamSpec{Kind: berth.StreamPort, Port: req.Port}
	switch req.As {
	case "", berth.PreviewURL, berth.PreviewTicket:
	default:
		return access, berth.FieldErrorf(berth.CodeInvalid, "as", "must be %s or %s", berth.PreviewURL, berth.PreviewTicket)
	}
	provider, ref, ttl, err := p.openable(sb, spec, req.TTL)
	if err != nil {
		return access, err
	}
	if req.As != berth.PreviewTicket {
		err = noURL(sb)
		if previewer, ok := provider.(berth.Previewer); ok {
			var url string
			if url, err = previewer.Preview(ctx, ref, req.Port, ttl); err == nil {
				access.URL = url
				return access, nil
			}
		}
		// Where there is no URL of the port, there may be a stream to it.
		if berth.CodeOf(err) != berth.CodeUnsupported || req.As == berth.PreviewURL {
			return access, p.gone(ctx, sb, err)
		}
	}
	streams, streamsErr := p.streams(ctx, provider, ref)
	if streamsErr != nil {
		return access, p.gone(ctx, sb, streamsErr)
	}
	if !streams {
		if _, ok := provider.(berth.Previewer); ok && err != nil {
			return access, err // which says what the URL needs
		}
		return access, noStream(sb, "a port")
	}
	access.Ticket, err = p.ticket(ctx, provider, sb, spec, ttl)
	return access, err
}

func noURL(sb berth.Sandbox) error {
	return &berth.Error{
		Code: berth.CodeUnsupported, Field: "as", Message: "there is no URL for browsers of a port in a sandbox of the provider " + string(sb.Provider) + " here",
		Remediation: "Let a port of your machine lead there: berth sandbox preview without --browser. Hosts that have joined can have a public URL: berth-agent serve --public-url.",
	}
}

// openable checks what is asked for, and then the sandbox: it has to be ready.
func (p *Plane) openable(sb berth.Sandbox, spec berth.StreamSpec, d berth.Duration) (provider berth.Provider, ref berth.SandboxRef, ttl time.Duration, err error) {
	if ttl, err = streamTTL(d); err == nil {
		err = spec.Check()
	}
	if err == nil && sb.Status != berth.SandboxReady {
		err = notReady(sb)
	}
	if err == nil {
		provider, ref, err = p.providerOf(sb)
	}
	return provider, ref, ttl, err
}

// streams reports whether anybody can carry streams to the provider's sandbox.
func (p *Plane) streams(ctx context.Context, provider berth.Provider, ref berth.SandboxRef) (bool, error) {
	_, byAgent := provider.(berth.Ticketer)
	_, byServer := provider.(berth.Streamer)
	if part, some := provider.(berth.PartStreamer); some && p.Tickets != nil && !byAgent {
		return part.Streams(ctx, ref)
	}
	return byAgent || byServer && p.Tickets != nil, nil
}

// ticket has it given out by the agent that has the sandbox, or else by the server.
func (p *Plane) ticket(ctx context.Context, provider berth.Provider, sb berth.Sandbox, spec berth.StreamSpec, ttl time.Duration) (*berth.Ticket, error) {
	ref := berth.RefOf(sb)
	if ticketer, ok := provider.(berth.Ticketer); ok {
		ticket, err := ticketer.IssueTicket(ctx, ref, spec, ttl)
		if err != nil {
			return nil, p.gone(ctx, sb, err)
		}
		if ticket.URL != "" {
			return &ticket, nil
		}
	}
	streamer, ok := provider.(berth.Streamer)
	if !ok || p.Tickets == nil {
		return nil, noStream(sb, "a stream")
	}
	ticket, err := p.Tickets.Issue(spec, ttl, func(ctx context.Context, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
		return streamer.OpenStream(ctx, ref, spec)
	})
	if err != nil {
		return nil, err
	}
	return &ticket, nil
}

func noStream(sb berth.Sandbox, what string) error {
	return &berth.Error{
		Code: berth.CodeUnsupported, Message: "there is no way from here to " + what + " in a sandbox of the provider " + string(sb.Provider),
		Remediation: "Run commands in it: berth exec " + string(sb.ID) + " -- bash -i",
	}
}

// streamTTL reads how long access is asked for; zero is as long as is usual.
func streamTTL(d berth.Duration) (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	ttl, err := d.Parse()
	if err == nil && ttl > berth.MaxStreamTTL {
		err = berth.Errorf(berth.CodeInvalid, "must be 24h at most")
	}
	if err != nil {
		return 0, berth.FieldErrorf(berth.CodeInvalid, "ttl", "%s", err.Error())
	}
	return ttl, nil
}
