package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/tunnel"
)

// ways are the optional powers of a provider under test.
type (
	lines struct {
		berth.Provider
		err error
	}
	links struct {
		berth.Provider
		err error
	}
	linksAndStreams struct{ links }
	linesAndStreams struct {
		lines
		reaches bool // the sandbox
	}
	streams struct{ berth.Provider }
	agents  struct {
		berth.Provider
		ticket berth.Ticket
		err    error
		asked  berth.StreamSpec
		ttl    time.Duration
	}
)

func (l lines) OpenShell(_ context.Context, _ berth.SandboxRef, ttl time.Duration) (string, error) {
	return "ssh box # " + ttl.String(), l.err
}

func (l links) Preview(context.Context, berth.SandboxRef, int, time.Duration) (string, error) {
	return "https://preview.example", l.err
}

func (streams) OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error) {
	return nil, errors.New("opened")
}

func (linesAndStreams) OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error) {
	return nil, errors.New("opened")
}

func (l linesAndStreams) Streams(context.Context, berth.SandboxRef) (bool, error) {
	return l.reaches, nil
}

func (linksAndStreams) OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error) {
	return nil, errors.New("opened")
}

func (a *agents) IssueTicket(_ context.Context, _ berth.SandboxRef, spec berth.StreamSpec, ttl time.Duration) (berth.Ticket, error) {
	a.asked, a.ttl = spec, ttl
	return a.ticket, a.err
}

func TestAShellIsOpenedByWhateverTheProviderHas(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	use := func(provider berth.Provider) { p.Providers = control.NewProviders(provider) }

	_, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{})
	wantCode(t, "OpenShell where nothing opens one", err, berth.CodeUnsupported)
	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Remediation, "berth exec "+string(sb.ID)) {
		t.Errorf("it does not say what to do: %v", err)
	}
	use(streams{p.provider})
	_, err = p.OpenShell(t.Context(), sb, berth.ShellRequest{})
	wantCode(t, "OpenShell on a server that carries no streams", err, berth.CodeUnsupported)

	use(lines{Provider: p.provider})
	if got, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{TTL: "30m"}); err != nil || got.Command != "ssh box # 30m0s" || got.Ticket != nil || got.Sandbox != sb.ID {
		t.Errorf("OpenShell by a command line = %+v, %v", got, err)
	}

	use(linesAndStreams{lines{Provider: p.provider}, true})
	if got, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{}); err != nil || got.Command == "" || got.Ticket != nil {
		t.Errorf("OpenShell on a server that carries no streams = %+v, %v; want the command line", got, err)
	}

	agent := &agents{Provider: p.provider, ticket: berth.Ticket{Value: "v", URL: "https://host"}}
	use(agent)
	req := berth.ShellRequest{Terminal: "xterm", Window: berth.Window{Columns: 80, Rows: 24}, TTL: "10s"}
	if got, err := p.OpenShell(t.Context(), sb, req); err != nil || got.Ticket == nil || *got.Ticket != agent.ticket {
		t.Errorf("OpenShell by an agent = %+v, %v", got, err)
	}
	if agent.asked.Kind != berth.StreamShell || agent.asked.Terminal != "xterm" || agent.asked.Window != req.Window || agent.ttl != 10*time.Second {
		t.Errorf("the agent was asked for %+v, %s", agent.asked, agent.ttl)
	}
	agent.err = berth.Errorf(berth.CodeUnavailable, "the host is away")
	_, err = p.OpenShell(t.Context(), sb, req)
	wantCode(t, "OpenShell by an agent that is away", err, berth.CodeUnavailable)

	tickets := tunnel.NewTickets(nil)
	t.Cleanup(tickets.Close)
	p.Tickets = tickets
	use(streams{p.provider})
	if got, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{}); err != nil || got.Ticket == nil || got.Ticket.Value == "" || got.Ticket.URL != "" {
		t.Errorf("OpenShell by the server = %+v, %v", got, err)
	}
	// The shell of a command line has not the variables.
	for reaches := range map[bool]bool{true: true, false: true} {
		use(linesAndStreams{lines{Provider: p.provider}, reaches})
		if got, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{}); err != nil || (got.Ticket != nil) != reaches || (got.Command != "") == reaches {
			t.Errorf("OpenShell where there is a command line too, and a stream reaches the sandbox (%v) = %+v, %v", reaches, got, err)
		}
	}
}

func TestAPortIsOpenedByALinkOrElseByAStream(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	tickets := tunnel.NewTickets(nil)
	t.Cleanup(tickets.Close)
	p.Tickets = tickets
	unsupported := berth.Errorf(berth.CodeUnsupported, "no link")
	for _, c := range []struct {
		name     string
		provider berth.Provider
		as       berth.PreviewForm
		url      string
		ticket   bool
		code     berth.Code
	}{
		{"nothing", p.provider, "", "", false, berth.CodeUnsupported},
		{"a link", links{Provider: p.provider}, "", "https://preview.example", false, ""},
		{"no link and no stream", links{p.provider, unsupported}, "", "", false, berth.CodeUnsupported},
		{"no link but a stream", linksAndStreams{links{p.provider, unsupported}}, "", "", true, ""},
		{"a link that fails", linksAndStreams{links{p.provider, berth.Errorf(berth.CodeUnavailable, "away")}}, "", "", false, berth.CodeUnavailable},
		{"both, for a browser", linksAndStreams{links{Provider: p.provider}}, berth.PreviewURL, "https://preview.example", false, ""},
		{"both, for a forward", linksAndStreams{links{Provider: p.provider}}, berth.PreviewTicket, "", true, ""},
		{"a stream alone, for a browser", streams{p.provider}, berth.PreviewURL, "", false, berth.CodeUnsupported},
		{"no link but a stream, for a browser", linksAndStreams{links{p.provider, unsupported}}, berth.PreviewURL, "", false, berth.CodeUnsupported},
		{"a link alone, for a forward", links{Provider: p.provider}, berth.PreviewTicket, "", false, berth.CodeUnsupported},
		{"both, for nobody", linksAndStreams{links{Provider: p.provider}}, "fax", "", false, berth.CodeInvalid},
	} {
		p.Providers = control.Providers{berth.ProviderLocal: c.provider}
		got, err := p.OpenPreview(t.Context(), sb, berth.PreviewRequest{Port: 8080, As: c.as})
		wantCode(t, "OpenPreview with "+c.name, err, c.code)
		if err == nil && (got.URL != c.url || (got.Ticket != nil) != c.ticket || got.Port != 8080) {
			t.Errorf("OpenPreview with %s = %+v", c.name, got)
		}
	}
	p.Providers = control.Providers{berth.ProviderLocal: p.provider}
	_, err := p.OpenPreview(t.Context(), sb, berth.PreviewRequest{Port: 8080, As: berth.PreviewURL})
	var e *berth.Error
	if !errors.As(err, &e) || e.Field != "as" {
		t.Errorf("a URL that there is none of = %+v, want that of the field as", err)
	}
}

func TestWaysIntoASandboxAreCheckedBeforeTheyAreOpened(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	for _, port := range []int{0, -1, 65536} {
		_, err := p.OpenPreview(t.Context(), sb, berth.PreviewRequest{Port: port})
		wantCode(t, "OpenPreview", err, berth.CodeInvalid)
	}
	for _, ttl := range []berth.Duration{"25h", "1", "-1s", "0s", "forever"} {
		_, err := p.OpenPreview(t.Context(), sb, berth.PreviewRequest{Port: 80, TTL: ttl})
		wantCode(t, "OpenPreview for "+string(ttl), err, berth.CodeInvalid)
	}
	for _, name := range []string{"x y", "a\n", "ü", strings.Repeat("x", 65), "$(id)"} {
		_, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{Terminal: name})
		wantCode(t, "OpenShell on the terminal "+name, err, berth.CodeInvalid)
	}
	if _, err := p.StopSandbox(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	_, err := p.OpenShell(t.Context(), p.sandbox(sb.ID), berth.ShellRequest{})
	wantCode(t, "OpenShell in a stopped sandbox", err, berth.CodeConflict)
	_, err = p.OpenPreview(t.Context(), p.sandbox(sb.ID), berth.PreviewRequest{Port: 80})
	wantCode(t, "OpenPreview of a stopped sandbox", err, berth.CodeConflict)
}

func TestASandboxThatVanishedIsFoundOutByWhoWantsIn(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	p.Providers = control.NewProviders(lines{p.provider, berth.Errorf(berth.CodeNotFound, "no such VM")})
	_, err := p.OpenShell(t.Context(), sb, berth.ShellRequest{})
	wantCode(t, "OpenShell in a vanished sandbox", err, berth.CodeConflict)
	if now := p.sandbox(sb.ID); now.Status != berth.SandboxDestroyed {
		t.Errorf("the record is %+v", now)
	}
}
