package fleet

import (
	"context"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

var (
	_ berth.Ticketer = (*Fleet)(nil)
	_ berth.Streamer = (*Fleet)(nil)
)

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
