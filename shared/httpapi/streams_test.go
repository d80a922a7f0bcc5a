package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/tunnel"
)

func TestWaysIntoASandboxAreAnswered(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		line := "POST /sandboxes/" + string(sandboxA)
		c.want(200, line+"/ssh", "")
		if got := c.want(200, line+"/ssh", `{"terminal":"ssh"}`); !strings.Contains(string(got.Body), `"command":"ssh sandbox@192.0.2.7"`) {
			t.Errorf("a command line: %s", got.Body)
		}
		// The server's own ticket leads to the server, under the name that it was called by.
		if got := c.want(200, line+"/ssh", `{"window":{"columns":80,"rows":24}}`); !strings.Contains(string(got.Body), `/api/v1/streams","expires_at"`) || strings.Contains(string(got.Body), "fingerprint") {
			t.Errorf("a ticket of the server's: %s", got.Body)
		}
		if got := c.want(200, line+"/preview", `{"port":8080}`); !strings.Contains(string(got.Body), `"url":"https://192.0.2.7:7443/v1/stream","fingerprint":"sha256:00"`) {
			t.Errorf("a ticket of an agent's: %s", got.Body)
		}
		if got := c.want(200, line+"/preview", `{"port":8080,"as":"url","ttl":"30m"}`); !strings.Contains(string(got.Body), `"url":"https://label.host.example/?berth-ticket=t"`) || strings.Contains(string(got.Body), `"ticket":`) {
			t.Errorf("a URL for browsers: %s", got.Body)
		}
		c.wantProblem(berth.CodeInvalid, []string{"as"}, line+"/preview", `{"port":8080,"as":"fax"}`)
		for _, bad := range []string{`{"port":0}`, `{"port":70000}`, `{}`} {
			c.wantProblem(berth.CodeInvalid, []string{"port"}, line+"/preview", bad)
		}
		c.wantProblem(berth.CodeInvalid, []string{"command"}, line+"/ssh", `{"command":"id"}`)
		c.wantProblem(berth.CodeInvalid, []string{"window.columns", "window.rows"}, line+"/ssh", `{"window":{"columns":-1,"rows":70000}}`)
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "POST /sandboxes/"+nobody+"/ssh", "")
	})
}

func TestTheEmbeddedServerCarriesStreams(t *testing.T) {
	t.Parallel()
	tickets := tunnel.NewTickets(nil)
	t.Cleanup(tickets.Close)
	f := newFixture(t, func(cfg *httpapi.Config) { cfg.Streams = tickets })
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	ticket, err := tickets.Issue(berth.StreamSpec{Kind: berth.StreamPort, Port: 1}, 0, func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go func() {
			_, _ = io.Copy(far, far) // an echo
		}()
		return near, nil
	})
	must(t, err)
	ticket.URL = server.URL + httpapi.Prefix + "/streams"
	stream, err := tunnel.Dial(t.Context(), ticket)
	must(t, err)
	_, err = stream.Write([]byte("there and back"))
	must(t, err)
	got := make([]byte, 14)
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != "there and back" {
		t.Errorf("%q came back, %v", got, err)
	}
	must(t, stream.Close())
	ticket.Value = "made up"
	if _, err := tunnel.Dial(t.Context(), ticket); berth.CodeOf(err) != berth.CodeUnauthenticated {
		t.Errorf("a ticket that was made up: %v", err)
	}
}
