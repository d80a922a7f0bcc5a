package agentapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/tunnel"
)

// streamer stands in for a provider whose streams say what they lead to.
type streamer struct{ *stand }

func (s streamer) OpenStream(_ context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.WriteString(far, string(ref.ID)+" "+ref.Ref+" "+string(spec.Kind)+" "+spec.Env["SECRET"])
		far.Close()
	}()
	return near, nil
}

func TestATicketLeadsToItsOwnSandboxWithoutTheToken(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *agentapi.Config) {
		c.Providers = agentapi.Providers{berth.ProviderLocal: streamer{&stand{describe: berth.SandboxReady}}}
	})
	issue := func(sandbox, ref string) berth.Ticket {
		t.Helper()
		request, err := json.Marshal(agentapi.TicketRequestOf(berth.StreamSpec{Kind: berth.StreamShell, Env: map[string]string{"SECRET": "hush"}}, 0))
		if err != nil {
			t.Fatal(err)
		}
		resp := e.do(http.MethodPost, "/v1/local/sandboxes/"+sandbox+"/tickets?ref="+ref, string(request), "Content-Type", agentapi.MediaJSON)
		var got agentapi.Ticket
		if err := json.Unmarshal([]byte(resp.body), &got); err != nil || resp.status != 200 {
			t.Fatalf("%d: %+v, %v", resp.status, got, err)
		}
		return berth.Ticket{Value: string(got.Value), URL: e.url + agentapi.StreamPath, ExpiresAt: got.ExpiresAt}
	}
	const other = "01arz3ndektsv4rrffq69g5fbb"
	for sandbox, ref := range map[string]string{sandboxID: "one", other: "two"} {
		stream, err := tunnel.Dial(t.Context(), issue(sandbox, ref))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(stream)
		if want := sandbox + " " + ref + " shell hush"; err != nil || string(said) != want {
			t.Errorf("the stream leads to %q, %v; want %q", said, err, want)
		}
		stream.Close()
	}
	if log := e.log.String(); strings.Contains(log, "hush") {
		t.Errorf("the log has the secret:\n%s", log)
	}
	// The ticket opens streams and nothing else, and the token no streams.
	for what, header := range map[string]http.Header{
		"nothing":   {},
		"the token": {"Authorization": {"Bearer " + token}, agentapi.InstallationHeader: {"mine"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+agentapi.StreamPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Protocol": "berth-stream-1",
		} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("a stream with %s: %s", what, resp.Status)
		}
	}
}

func TestASandboxThatIsNotReadyGivesOutNoTicket(t *testing.T) {
	t.Parallel()
	for status, want := range map[berth.SandboxStatus]int{berth.SandboxGone: 404, berth.SandboxStopped: 409, berth.SandboxCreating: 409} {
		s := &stand{describe: status}
		e := newEdge(t, func(c *agentapi.Config) { c.Providers = agentapi.Providers{berth.ProviderLocal: streamer{s}} })
		if resp := postTicket(t, e, `{"kind":"shell","window":{"columns":0,"rows":0}}`); resp.status != want {
			t.Errorf("a ticket for a sandbox that is %s: %d, want %d", status, resp.status, want)
		}
	}
	s := &stand{describe: berth.SandboxReady}
	e := newEdge(t, func(c *agentapi.Config) { c.Providers = agentapi.Providers{berth.ProviderLocal: streamer{s}} })
	for _, bad := range []string{`{"kind":"port"}`, `{"kind":"shell","user":"root"}`, `{"kind":"everything"}`, `{}`} {
		if resp := postTicket(t, e, bad); resp.status != 422 {
			t.Errorf("a ticket for %s: %d", bad, resp.status)
		}
	}
	e = newEdge(t, func(c *agentapi.Config) { c.Providers = agentapi.Providers{berth.ProviderLocal: s} })
	if resp := postTicket(t, e, `{"kind":"shell"}`); resp.status != 422 {
		t.Errorf("a ticket of a provider without streams: %d", resp.status)
	}
}

func postTicket(t *testing.T, e *edge, body string) reply {
	t.Helper()
	return e.do(http.MethodPost, sandbox+"/tickets", body, "Content-Type", agentapi.MediaJSON)
}
