package fleet

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

var (
	_ berth.Ticketer  = (*Fleet)(nil)
	_ berth.Streamer  = (*Fleet)(nil)
	_ berth.Previewer = (*Fleet)(nil)
)

// Preview has the host's agent give out a URL for browsers. Error: unsupported
// where the sandbox's host has no public URL; unavailable when it gives out one that
// is not its own.
func (f *Fleet) Preview(ctx context.Context, ref berth.SandboxRef, port int, ttl time.Duration) (string, error) {
	if ref.Host == "" {
		return "", &berth.Error{
			Code: berth.CodeUnsupported, Message: "sandbox " + string(ref.ID) + " is with the server's own engine, which has no URL for browsers",
			Remediation: "Let a port of this machine lead there: berth sandbox preview without --browser.",
		}
	}
	preview, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (string, error) {
		previewer, ok := p.(berth.Previewer)
		if !ok {
			return "", noStreams(ref)
		}
		return previewer.Preview(ctx, ref, port, ttl)
	})
	var e *berth.Error
	if errors.As(err, &e) && e.Code == berth.CodeUnsupported {
		named := *e
		named.Message = "host " + string(ref.Host) + ": " + e.Message
		err = &named
	}
	if err != nil {
		return "", gone(ref, err)
	}
	if err := f.checkPreview(ctx, ref.Host, preview); err != nil {
		return "", err
	}
	return preview, nil
}

// checkPreview refuses a URL that is not below what is recorded of the host: whoever
// has taken an agent over could lead people anywhere by it. Error: unavailable.
func (f *Fleet) checkPreview(ctx context.Context, host berth.HostID, preview string) error {
	h, err := f.config.Records.FindHost(ctx, host)
	if err != nil {
		return berth.Wrap(err, "looking host "+string(host)+" up")
	}
	public, _ := berth.ParsePublicURL(h.PublicURL) // none covers nothing
	u, err := url.Parse(preview)
	if err == nil && u.User == nil {
		if label, ok := public.Label(u.Host); ok && u.Scheme+"://"+u.Host == public.Origin(label) {
			return nil
		}
	}
	recorded := "is not below its public URL, " + h.PublicURL
	if h.PublicURL == "" {
		recorded = "is below no public URL that the server has taken from it"
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "host " + string(host) + " gave out a URL for browsers that " + recorded,
		Remediation: "If the host was given another public URL just now, try again in a minute. See that no two hosts have the same one, and what `berth host show " + string(host) + "` says of it.",
	}
}

// IssueTicket has the host's agent give out a ticket; one without a URL says that
// the sandbox is with the server's own engine.
func (f *Fleet) IssueTicket(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec, ttl time.Duration) (berth.Ticket, error) {
	if ref.Host == "" {
		return berth.Ticket{}, nil
	}
	ticket, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.Ticket, error) {
		t, ok := p.(berth.Ticketer)
		if !ok {
			return berth.Ticket{}, noStreams(ref)
		}
		return t.IssueTicket(ctx, ref, spec, ttl)
	})
	return ticket, gone(ref, err)
}

// OpenStream opens a stream into a sandbox of the server's own engine. Error:
// unsupported for one on a host, which clients reach themselves.
func (f *Fleet) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	return call(ctx, f, ref.Host, false, func(p berth.Provider) (io.ReadWriteCloser, error) {
		s, ok := p.(berth.Streamer)
		if !ok {
			return nil, noStreams(ref)
		}
		return s.OpenStream(ctx, ref, spec)
	})
}

func noStreams(ref berth.SandboxRef) error {
	return berth.Errorf(berth.CodeUnsupported, "the server opens no streams into sandbox %s", ref.ID)
}
