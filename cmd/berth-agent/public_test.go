//go:build linux

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/hostagent/preview/previewtest"
)

const publicURL = "https://*.host.example.com"

func TestAPublicURLThatBrowsersCouldNotUseIsRefused(t *testing.T) {
	t.Parallel()
	a := previewtest.NewAuthority(t)
	a.Issue("*.elsewhere.example.com", time.Now().Add(time.Hour))
	cert, key := a.Files()
	pair := []string{"--public-cert", cert, "--public-key", key}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"plain http", append(pair, "--public-url", "http://*.host.example.com"), 2, "--public-url: must begin with https://"},
		{"no star", append(pair, "--public-url", "https://host.example.com"), 2, "an origin of its own"},
		{"an address", append(pair, "--public-url", "https://10.0.0.7"), 2, "must have a name"},
		{"a path", append(pair, "--public-url", publicURL+"/previews"), 2, "no path"},
		{"a user", append(pair, "--public-url", "https://me@*.host.example.com"), 2, "no user"},
		{"a certificate without the URL", pair, 2, "--public-url"},
		{"an address without the URL", []string{"--public-url", "none", "--public-listen", "127.0.0.1:0"}, 2, "--public-url"},
		{"no key", []string{"--public-url", publicURL, "--public-cert", cert}, 2, "--public-key"},
		{"neither certificate nor proxy", []string{"--public-url", publicURL}, 2, "--public-listen: must be a loopback address"},
		{"no certificate, in the open", []string{"--public-url", publicURL, "--public-listen", "0.0.0.0:8443"}, 2, "must be a loopback address"},
		{"a certificate of another name", append(pair, "--public-url", publicURL), 2, "does not certify *.host.example.com"},
		{"an address that is none", append(pair, "--public-url", "https://*.elsewhere.example.com", "--public-listen", "nowhere"), 6, "--public-listen"},
	} {
		args := append([]string{"serve", "--docker=off", "--allow-local", "--guest", "/bin/true", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), "agent")}, tt.args...)
		if status, stdout, stderr := command(t, args...); status != tt.status || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %s", tt.name, status, stdout, stderr)
		}
	}
}

// publicArgs are of an agent that browsers reach, under a certificate of a.
func publicArgs(a *previewtest.Authority) []string {
	a.Issue("*.host.example.com", time.Now().Add(time.Hour))
	cert, key := a.Files()
	return []string{"--public-url", publicURL, "--public-cert", cert, "--public-key", key, "--public-listen", "127.0.0.1:0"}
}

// publicAddress is where an agent has said that it listens for browsers.
func publicAddress(t *testing.T, stderr fmt.Stringer) string {
	t.Helper()
	said := regexp.MustCompile(`which has to lead to (\S+)`).FindStringSubmatch(stderr.String())
	if said == nil {
		t.Fatalf("the agent does not say where browsers reach it: %s", stderr)
	}
	return said[1]
}

func TestABrowserReachesAPortOfASandboxThroughTheAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts an agent and a guest")
	}
	t.Parallel()
	a := previewtest.NewAuthority(t)
	p := startProcess(t, berth.ProviderLocal)
	p.kill()
	p.more = publicArgs(a)
	p.start(t)
	r := p.connect(t)
	ref := ready(t, r)
	// A local sandbox has the machine's own ports.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			kind, text, _ := ws.Read(r.Context())
			_ = ws.Write(r.Context(), kind, text)
			_ = ws.Close(websocket.StatusNormalClosure, "")
			return
		}
		_, _ = io.Copy(w, r.Body)
		_, _ = io.WriteString(w, r.Host+" "+r.URL.Path+" "+r.Header.Get("Cookie"))
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	url, err := r.Preview(t.Context(), ref, number, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	address := publicAddress(t, &p.stderr)
	b := previewtest.NewBrowser(t, a, address)
	origin := url[:strings.Index(url, "/?")]
	host := strings.TrimPrefix(origin, "https://")
	if page := b.Load(url); page.Status != 200 || page.Body != host+" / " || page.URL != origin+"/" {
		t.Fatalf("the page is %+v", page)
	}
	large := strings.Repeat("0123456789\x00\xff", 1<<20)
	if page := b.Send(http.MethodPost, origin+"/up", strings.NewReader(large)); page.Body != large+host+" /up " {
		t.Errorf("of %d bytes %d came back", len(large), len(page.Body))
	}
	ws, _, err := websocket.Dial(t.Context(), "wss://"+host+"/socket", &websocket.DialOptions{HTTPClient: b.Client, HTTPHeader: http.Header{"Origin": {origin}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte(large[:30_000])); err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(1 << 20)
	if _, got, err := ws.Read(t.Context()); err != nil || string(got) != large[:30_000] {
		t.Errorf("%d bytes came back over the socket, %v", len(got), err)
	}
	if page := previewtest.NewBrowser(t, a, address).Load(url); page.Status != 403 {
		t.Errorf("the URL in another browser: %+v", page)
	}

	// Nothing of the API is there, and the agent's own certificate is never shown.
	if page := b.Load(origin+agentapi.HealthPath, "Host", "127.0.0.1", "Authorization", "Bearer x"); page.Status != http.StatusMisdirectedRequest {
		t.Errorf("the API under the browsers' address: %+v", page)
	}
	if conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}); err == nil {
		conn.Close()
		t.Error("a certificate is shown to who does not name a preview")
	}

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	quiet := free.Addr().(*net.TCPAddr).Port
	free.Close()
	nobody, err := r.Preview(t.Context(), ref, quiet, 0)
	if err != nil {
		t.Fatal(err)
	}
	if page := b.Load(nobody); page.Status != http.StatusBadGateway || !strings.Contains(page.Body, "Nothing listens on port "+strconv.Itoa(quiet)) {
		t.Errorf("a port where nobody listens: %+v", page)
	}

	if err := r.Stop(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if page := b.Load(origin + "/"); page.Status != http.StatusServiceUnavailable || !strings.Contains(page.Body, "does not run") {
		t.Errorf("a stopped sandbox: %+v", page)
	}
	if _, err := r.Preview(t.Context(), ref, number, 0); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Preview of a stopped sandbox: %v", err)
	}
	if _, err := r.Start(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if page := b.Load(origin + "/again"); page.Status != 200 {
		t.Errorf("a sandbox that was started again: %+v", page)
	}
	if err := r.Destroy(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if page := b.Load(origin + "/"); page.Status != 403 {
		t.Errorf("a sandbox that is no more: %+v", page)
	}
	if _, err := r.Preview(t.Context(), ref, number, 0); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Preview of what is no more: %v", err)
	}
	if status := p.end(t); status != 0 {
		t.Errorf("the agent ended with %d: %s", status, &p.stderr)
	}
	p.start(t) // so that the sandbox can be destroyed
}

func TestAnAgentWithoutAPublicURLSaysWhatItNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts an agent and a guest")
	}
	t.Parallel()
	p := startProcess(t, berth.ProviderLocal)
	r := p.connect(t)
	_, err := r.Preview(t.Context(), ready(t, r), 80, 0)
	var e *berth.Error
	if berth.CodeOf(err) != berth.CodeUnsupported || !errors.As(err, &e) || !strings.Contains(e.Message, "no public URL") || !strings.Contains(e.Remediation, "--public-url") {
		t.Errorf("Preview: %v", err)
	}
}

func TestAHostTellsItsPublicURLAsItJoinsAndWithEachHeartbeat(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts agents")
	}
	t.Parallel()
	a := previewtest.NewAuthority(t)
	c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
	if status, _, stderr := command(t, joinArgs(t, c, dir, publicArgs(a)...)...); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if got := c.joins[0].PublicURL; got != publicURL {
		t.Errorf("the join says %q", got)
	}
	record, _, err := dir.member()
	cert, key := a.Files()
	if want := (membership.Public{URL: publicURL, Listen: "127.0.0.1:0", Cert: cert, Key: key}); err != nil || record.Public != want {
		t.Errorf("recorded: %+v, %v; want %+v", record.Public, err, want)
	}
	p := &process{kind: berth.ProviderLocal, dir: dir, guest: joinedProcess(t, c).guest}
	beat := func() string {
		t.Helper()
		c.mu.Lock()
		before := len(c.beats)
		c.mu.Unlock()
		p.listen = "127.0.0.1:0"
		p.start(t)
		defer p.kill()
		until(t, "a heartbeat", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.beats) > before
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.beats[before].PublicURL
	}
	if got := beat(); got != publicURL {
		t.Errorf("a heartbeat says %q", got)
	}
	publicAddress(t, &p.stderr)
	p.more = []string{"--public-url", "none"}
	if got := beat(); got != "" {
		t.Errorf("a heartbeat says %q of an agent that browsers do not reach any more", got)
	}
	a.Issue("*.host.example.com", time.Now().Add(-time.Hour))
	p.more = nil
	p.stderr.Reset()
	if got := beat(); got != publicURL || !strings.Contains(p.stderr.String(), "browsers refuse it until it is renewed") {
		t.Errorf("with a certificate that has expired: %q, %s", got, &p.stderr)
	}
}
