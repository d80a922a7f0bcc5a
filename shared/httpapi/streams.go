package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

func streamOperations() []operation {
	codes := []berth.Code{berth.CodeConflict, berth.CodeUnsupported, berth.CodeRateLimited, berth.CodeTimedOut}
	return []operation{
		op("open-shell", spec{
			summary: "Open a way to a shell",
			description: "Answers a ticket, for one shell with the environment's variables, within a minute: " +
				"a WebSocket of the protocol berth-stream-1 to its url, with the ticket's value in the header Berth-Ticket and, when there is a fingerprint, trusting that certificate alone. " +
				"Where no stream reaches the sandbox and the provider has a command line, it is that; its shell has none of the variables. Whoever has the answer is let in.",
			takes: berth.ShellRequest{}, optional: true, bodiless: true, example: map[string]any{"terminal": "xterm-256color", "window": map[string]any{"columns": 120, "rows": 40}},
			codes: codes,
		}, (*API).openShell),
		op("open-preview", spec{
			summary: "Open a way to a port",
			description: "Answers a URL for browsers where the provider has one, or the sandbox's host a public URL; that of a host lets in the browser that opens it first, within ten minutes. " +
				"Otherwise, and as a ticket, a ticket for any number of connections within ten minutes, each a WebSocket as for a shell. Whoever has the answer may open the port.",
			takes: berth.PreviewRequest{}, example: map[string]any{"port": 8080}, codes: codes,
		}, (*API).openPreview),
		op("carry-stream", spec{
			summary:     "Carry a stream into a sandbox",
			description: "A WebSocket of the protocol berth-stream-1 with a ticket in the header Berth-Ticket. Its messages are the frames of a shell or of a connection.",
			status:      http.StatusSwitchingProtocols,
			codes:       append([]berth.Code{berth.CodeUnauthenticated, berth.CodeForbidden, berth.CodeNotFound}, codes...),
		}, (*API).carryStream),
	}
}

func (a *API) openShell(ctx context.Context, in *SandboxParams) (*body[berth.ShellAccess], error) {
	var req berth.ShellRequest
	if x := exchangeOf(ctx); x.body != nil && x.r.ContentLength != 0 { // all of it is optional
		if _, err := readJSON(ctx, &req); err != nil {
			return nil, err
		}
	}
	sb, err := a.sandbox(ctx, *in)
	if err != nil {
		return nil, err
	}
	access, err := a.cfg.Plane.OpenShell(ctx, sb, req)
	if err != nil {
		return nil, err
	}
	a.address(ctx, access.Ticket)
	return &body[berth.ShellAccess]{access}, nil
}

func (a *API) openPreview(ctx context.Context, in *SandboxParams) (*body[berth.PreviewAccess], error) {
	var req berth.PreviewRequest
	if _, err := readJSON(ctx, &req); err != nil {
		return nil, err
	}
	sb, err := a.sandbox(ctx, *in)
	if err != nil {
		return nil, err
	}
	access, err := a.cfg.Plane.OpenPreview(ctx, sb, req)
	if err != nil {
		return nil, err
	}
	a.address(ctx, access.Ticket)
	return &body[berth.PreviewAccess]{access}, nil
}

// address says where a ticket of the server's own is good.
func (a *API) address(ctx context.Context, ticket *berth.Ticket) {
	if ticket != nil && ticket.URL == "" {
		ticket.URL = a.base(ctx) + Prefix + "/streams"
	}
}

// streamReply is no answer but a connection of its own.
type streamReply struct{ Body func(huma.Context) }

func (a *API) carryStream(ctx context.Context, _ *empty) (*streamReply, error) {
	if a.cfg.Streams == nil {
		return nil, berth.Errorf(berth.CodeUnsupported, "this server carries no streams")
	}
	return &streamReply{func(hc huma.Context) {
		x := exchangeOf(hc.Context())
		if err := a.cfg.Streams.Serve(x.w, x.r); err != nil {
			x.fail(err)
			return
		}
		x.taken(http.StatusSwitchingProtocols)
	}}, nil
}
