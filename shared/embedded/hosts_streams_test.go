//go:build linux

package embedded_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/hostagent/preview"
	"github.com/berth-dev/berth/shared/tunnel"
)

// lives has a sandbox on a host that has joined as eu-1.
func (h *memoryHost) lives(t *testing.T, api *client.Client) berth.SandboxID {
	t.Helper()
	_, err := api.CreateEnvironment(t.Context(), map[string]any{"id": "ci", "provider": "docker", "env": map[string]string{"PLACE": "harbour"}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := api.AddHost(t.Context(), berth.HostRequest{ID: "eu-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.JoinHost(t.Context(), h.join(token.Token)); err != nil {
		t.Fatal(err)
	}
	var run berth.Run
	awaited(t, "a run is taken", func() bool { // that there is a host is remembered for a moment
		run, err = api.CreateRun(t.Context(), berth.RunRequest{Environment: "ci", Command: []string{"sleep", "1000"}})
		return err == nil
	})
	awaited(t, "the run runs", func() bool {
		run, err = api.FindRun(t.Context(), run.ID)
		return err == nil && run.Status == berth.RunRunning
	})
	return run.Sandbox
}

func awaited(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(startWait); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, startWait)
		}
	}
}

// firstLine opens what a ticket is for, and reads what is said there first.
func firstLine(t *testing.T, ticket berth.Ticket) string {
	t.Helper()
	stream, err := tunnel.Dial(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	conn := channel.NewConn(stream)
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestShellsAndPortsAreOpenedStraightAtAHostThatJoined(t *testing.T) {
	t.Parallel()
	host := startMemoryHost(t)
	api, logged := serveWith(t, embedded.Agent{})
	id := host.lives(t, api)

	shell, err := api.OpenShell(t.Context(), id, berth.ShellRequest{Terminal: "xterm"})
	if err != nil || shell.Ticket == nil || shell.Ticket.URL != "https://"+host.address+"/v1/stream" || shell.Ticket.Fingerprint != host.fingerprint {
		t.Fatalf("OpenShell = %+v, %v", shell, err)
	}
	if got, want := firstLine(t, *shell.Ticket), string(id)+" shell 0 harbour\n"; got != want {
		t.Errorf("the shell says %q, want %q", got, want)
	}
	if _, err := tunnel.Dial(t.Context(), *shell.Ticket); berth.CodeOf(err) != berth.CodeUnauthenticated {
		t.Errorf("the shell's ticket again: %v", err)
	}
	port, err := api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 8080})
	if err != nil || port.Ticket == nil || port.URL != "" {
		t.Fatalf("OpenPreview = %+v, %v", port, err)
	}
	for range 2 {
		if got, want := firstLine(t, *port.Ticket), string(id)+" port 8080 \n"; got != want {
			t.Errorf("the port says %q, want %q", got, want)
		}
	}
	_, err = api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 8080, As: berth.PreviewURL})
	var e *berth.Error
	if berth.CodeOf(err) != berth.CodeUnsupported || !errors.As(err, &e) || !strings.Contains(e.Message, "host eu-1: berth-agent there has no public URL") || !strings.Contains(e.Remediation, "--public-url") {
		t.Errorf("a URL for browsers: %v", err)
	}

	// The agent is started again between a ticket and its use: it knows no ticket any
	// more, and gives out others.
	host.stop()
	host.start(t)
	if _, err := tunnel.Dial(t.Context(), *port.Ticket); berth.CodeOf(err) != berth.CodeUnauthenticated || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("a ticket from before: %v", err)
	}
	if port, err = api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 1}); err != nil {
		t.Fatal(err)
	}
	if got, want := firstLine(t, *port.Ticket), string(id)+" port 1 \n"; got != want {
		t.Errorf("the port says %q, want %q", got, want)
	}
	// Its certificate was exchanged: neither the server nor a client is led astray.
	other := startMemoryHost(t)
	host.stop()
	host.certificate = other.certificate
	host.start(t)
	if _, err := tunnel.Dial(t.Context(), *port.Ticket); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "another certificate") {
		t.Errorf("under another certificate: %v", err)
	}
	if _, err := api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 1}); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "certificate changed") {
		t.Errorf("a ticket under another certificate: %v", err)
	}
	if text := logged(); strings.Contains(text, port.Ticket.Value) || strings.Contains(text, shell.Ticket.Value) {
		t.Error("a ticket is in the log")
	}
	if err := api.RemoveHost(t.Context(), "eu-1", true); err != nil {
		t.Fatal(err)
	}
	if _, err := api.OpenShell(t.Context(), id, berth.ShellRequest{}); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("a shell on a host that was removed: %v", err)
	}
}

func TestABrowserReachesASandboxOnAHostWithAPublicURL(t *testing.T) {
	t.Parallel()
	url, err := berth.ParsePublicURL("https://*.eu-1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	host := startMemoryHost(t)
	host.stop()
	host.previews = preview.New(preview.Config{URL: url, Proxied: true})
	t.Cleanup(host.previews.Close)
	host.start(t)
	front := httptest.NewServer(host.previews) // where a proxy leads that ends TLS
	t.Cleanup(front.Close)
	api, logged := serveWith(t, embedded.Agent{})
	id := host.lives(t, api)
	if h, err := api.FindHost(t.Context(), "eu-1"); err != nil || h.PublicURL != url.String() {
		t.Errorf("the host is %+v, %v", h, err)
	}
	// Its machine is one: another host under the same names would be in its way.
	token, err := api.AddHost(t.Context(), berth.HostRequest{ID: "eu-2"})
	if err != nil {
		t.Fatal(err)
	}
	twin := startMemoryHost(t)
	twin.previews = host.previews
	if _, err := api.JoinHost(t.Context(), twin.join(token.Token)); berth.CodeOf(err) != berth.CodeConflict || !strings.Contains(err.Error(), "public_url") {
		t.Errorf("a second host with the same public URL: %v", err)
	}

	access, err := api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 8080, TTL: "1h"})
	if err != nil || access.Ticket != nil || !strings.HasPrefix(access.URL, "https://") || !strings.Contains(access.URL, ".eu-1.example.com/?berth-ticket=") {
		t.Fatalf("OpenPreview = %+v, %v", access, err)
	}
	name, path, _ := strings.Cut(strings.TrimPrefix(access.URL, "https://"), "/")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = name
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(resp.Header.Get("Set-Cookie"), preview.Cookie+"=") {
		t.Errorf("the browser is answered %s, %v", resp.Status, resp.Header)
	}
	// A person may have a port of their own machine all the same.
	access, err = api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 8080, As: berth.PreviewTicket})
	if err != nil || access.Ticket == nil || access.URL != "" {
		t.Fatalf("OpenPreview for a forward = %+v, %v", access, err)
	}
	if got, want := firstLine(t, *access.Ticket), string(id)+" port 8080 \n"; got != want {
		t.Errorf("the port says %q, want %q", got, want)
	}
	if _, err := api.OpenPreview(t.Context(), id, berth.PreviewRequest{Port: 8080, As: "fax"}); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a form that there is not: %v", err)
	}
	if text := logged(); strings.Contains(text, "berth-ticket") {
		t.Error("a ticket is in the log")
	}
	if err := api.RemoveHost(t.Context(), "eu-1", true); err != nil {
		t.Fatal(err)
	}
}
