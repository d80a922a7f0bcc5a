package fleet

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

var (
	_ berth.Ticketer  = (*Fleet)(nil)
	_ berth.Streamer  = (*Fleet)(nil)
	_ berth.Previewer = (*Fleet)(nil)
)

// Preview has the host's agent give out a URL for browsers. Error: unsupported
// where the sandbox's host has no public URL.
func (f *Fleet) Preview(ctx context.Context, ref berth.SandboxRef, port int, ttl time.Duration) (string, error) {
	if ref.Host == "" {
		return "", &berth.Error{
			Code: berth.CodeUnsupported, Message: "sandbox " + string(ref.ID) + " is with the server's own engine, which has no URL for browsers",
			Remediation: "Let a port of this machine lead there: berth sandbox preview without --browser.",
		}
	}
	url, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (string, error) {
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
	return url, gone(ref, err)
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
