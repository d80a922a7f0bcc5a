package remote_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

const agentToken = "the-agents-token"

// script is a TLS server that answers as a test wants, and counts.
type script struct {
	*httptest.Server
	requests, connections atomic.Int64
}

func newScript(t *testing.T, h http.HandlerFunc) *script {
	t.Helper()
	s := &script{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// hurried does not sleep; its time goes on instead.
type hurried struct{ slept *atomic.Int64 }

func (c hurried) Now() time.Time { return time.Unix(0, c.slept.Load()) }

func (c hurried) Sleep(ctx context.Context, d time.Duration) error {
	c.slept.Add(int64(d))
	return ctx.Err()
}

func newHurried() hurried { return hurried{new(atomic.Int64)} }

func (s *script) config() remote.Config {
	return remote.Config{
		URL: s.URL, Fingerprint: agentapi.FingerprintOf(s.Certificate().Raw), Token: agentToken, Kind: berth.ProviderDocker,
		Installation: "mine", Clock: newHurried(),
	}
}

func dial(t *testing.T, c remote.Config) *remote.Provider {
	t.Helper()
	p, err := remote.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

var ref = berth.SandboxRef{ID: "01arz3ndektsv4rrffq69g5fav", Ref: "container"}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// breakOff ends the connection instead of answering, as a death does.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
	panic(http.ErrAbortHandler)
}

func TestAnotherCertificateIsNamedAndGetsNoToken(t *testing.T) {
	t.Parallel()
	s := newScript(t, empty)
	c := s.config()
	c.Fingerprint[0] ^= 1
	clock := newHurried()
	c.Clock = clock
	err := dial(t, c).Destroy(t.Context(), ref)
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeUnavailable || !strings.Contains(e.Message, "the host's certificate changed") {
		t.Fatalf("Destroy = %v", err)
	}
	for _, part := range []string{c.Fingerprint.String(), agentapi.FingerprintOf(s.Certificate().Raw).String()} {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q does not show %s", e.Message, part)
		}
	}
	if !strings.Contains(e.Remediation, "berth-agent fingerprint") {
		t.Errorf("it says to do: %q", e.Remediation)
	}
	if s.requests.Load() != 0 || clock.slept.Load() != 0 {
		t.Errorf("%d requests came through, and it waited %d ns to try again", s.requests.Load(), clock.slept.Load())
	}
}

func TestWhatIsNoAgentIsUnavailable(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(empty))
	t.Cleanup(plain.Close)
	old := httptest.NewUnstartedServer(http.HandlerFunc(empty))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	t.Cleanup(old.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	good := newScript(t, empty).config()
	for _, tt := range []struct{ name, url, want string }{
		{"one without TLS", strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS"},
		{"one of an older TLS", old.URL, "cannot be reached"},
		{"nobody", "https://" + nobody.Addr().String(), "cannot be reached"},
	} {
		c := good
		c.URL = tt.url
		err := dial(t, c).Destroy(t.Context(), ref)
		if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), string(ref.ID)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestAnswersThatNoAgentGivesAreUnavailable(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"a page":          func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"an error page":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
		"another problem": func(w http.ResponseWriter, _ *http.Request) { problem(w, 500, `{"code":"strange"}`) },
		"a broken form": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", agentapi.MediaJSON)
			fmt.Fprint(w, `{"items":5}`)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusFound)
		},
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			_, _ = w.Write(make([]byte, 1000))
		},
	} {
		s := newScript(t, h)
		_, err := dial(t, s.config()).List(t.Context())
		if berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
		if n := s.requests.Load(); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
	bare := newScript(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	p := dial(t, bare.config())
	if _, err := p.ReadOutput(t.Context(), ref, "c", 0, 0, 0); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("output without an offset: %v", err)
	}
	if _, err := p.ReadFile(t.Context(), ref, "a", 0, 0, ""); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("a file without its description: %v", err)
	}
}

func problem(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", agentapi.MediaProblem)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func TestTheAgentsErrorsAreTheCallers(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(w http.ResponseWriter, _ *http.Request) {
		problem(w, 401, `{"code":"unauthenticated","detail":"who are you","remediation":"say it","field":"f","errors":[{"location":"f","message":"m"}]}`)
	})
	_, err := dial(t, s.config()).Describe(t.Context(), ref)
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeUnauthenticated || e.Message != "who are you" || e.Remediation != "say it" || e.Field != "f" || len(e.Problems) != 1 {
		t.Errorf("Describe: %#v", err)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestACallIsRepeatedWhenItsConnectionBreaksButASignalIsNot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	calls := map[string]struct {
		do   func(p *remote.Provider) error
		want int64
	}{
		"StartCommand": {func(p *remote.Provider) error {
			return p.StartCommand(ctx, ref, berth.CommandSpec{ID: "c", Script: "true"})
		}, 3},
		"Destroy": {func(p *remote.Provider) error { return p.Destroy(ctx, ref) }, 3},
		"DescribeCommand": {func(p *remote.Provider) error {
			_, err := p.DescribeCommand(ctx, ref, "c")
			return err
		}, 3},
		"a small file": {func(p *remote.Provider) error {
			_, err := p.WriteFile(ctx, ref, "a", strings.NewReader("abc"), 3, 0, "")
			return err
		}, 3},
		"a signal": {func(p *remote.Provider) error { return p.Signal(ctx, ref, "c", "INT") }, 1},
	}
	for name, call := range calls {
		var seen sync.Map
		var n atomic.Int64
		s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen.Store(r.Method+r.URL.String()+string(body), true)
			if n.Add(1) < 3 {
				breakOff(w, r)
			}
			w.Header().Set("Content-Type", agentapi.MediaJSON)
			fmt.Fprint(w, "{}")
		})
		err := call.do(dial(t, s.config()))
		if got := s.requests.Load(); got != call.want {
			t.Errorf("%s: %d requests, want %d", name, got, call.want)
		}
		if (err == nil) != (call.want == 3) || err != nil && berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
		different := 0
		seen.Range(func(any, any) bool { different++; return true })
		if different != 1 {
			t.Errorf("%s: %d different requests were sent", name, different)
		}
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	s := newScript(t, breakOff)
	for _, tt := range []struct {
		patience  time.Duration
		from, to_ int64
	}{{-1, 1, 1}, {time.Second, 4, 9}, {0, 8, 20}} {
		s.requests.Store(0)
		c := s.config()
		c.Patience = tt.patience
		if err := dial(t, c).Stop(t.Context(), ref); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("%s: %v", tt.patience, err)
		}
		if n := s.requests.Load(); n < tt.from || n > tt.to_ {
			t.Errorf("with a patience of %s: %d requests", tt.patience, n)
		}
	}
}

func TestTheCallersTimeIsTheCalls(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	})
	p := dial(t, s.config())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.ReadOutput(ctx, ref, "c", 0, 0, time.Minute); berth.CodeOf(err) != berth.CodeTimedOut {
		t.Errorf("past a deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := p.Stop(ctx, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestALongWaitIsSeveralShortOnes(t *testing.T) {
	t.Parallel()
	var waits []string
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		waits = append(waits, r.URL.Query().Get("wait"))
		w.Header().Set(agentapi.NextHeader, "7")
	})
	out, err := dial(t, s.config()).ReadOutput(t.Context(), ref, "c", 7, 0, 70*time.Second)
	if err != nil || out.Next != 7 || out.Ended || fmt.Sprint(waits) != "[30s 30s 10s]" {
		t.Errorf("%+v, %v, waits %v", out, err, waits)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := newScript(t, empty)
	p := dial(t, s.config())
	for range 50 {
		if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "true"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections for 50 calls", n)
	}
}

func TestARequestCarriesItsAddressAndNothingElseInTheURL(t *testing.T) {
	t.Parallel()
	var got []string
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get(agentapi.InstallationHeader)+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNoContent)
	})
	p := dial(t, s.config())
	spec := berth.CommandSpec{ID: "../c", Argv: []string{"canary"}, Env: map[string]string{"canary": "canary"}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte("canary"))}}
	if err := p.StartCommand(t.Context(), berth.SandboxRef{ID: "..", Ref: "r&x"}, spec); err != nil {
		t.Fatal(err)
	}
	if err := p.Cancel(t.Context(), berth.SandboxRef{}, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.DeleteFile(t.Context(), ref, "a/../\xff?b#c\n", "me"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PUT /v1/docker/sandboxes/%2E%2E/commands/..%2Fc?ref=r%26x mine Bearer " + agentToken,
		"POST /v1/docker/sandboxes/-/commands/-/cancel mine Bearer " + agentToken,
		"DELETE /v1/docker/sandboxes/" + string(ref.ID) + "/files?guard=me&path=a%2F..%2F%FF%3Fb%23c%0A&ref=container mine Bearer " + agentToken,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestARegistrysCredentialsGoWithTheSandbox(t *testing.T) {
	t.Parallel()
	var bodies []agentapi.Provision
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		var p agentapi.Provision
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		bodies = append(bodies, p)
		w.Header().Set("Content-Type", agentapi.MediaJSON)
		fmt.Fprint(w, "{}")
	})
	c := s.config()
	c.Credentials = func(_ context.Context, registry string) (agentapi.RegistryCredentials, error) {
		if registry == "broken.example" {
			return agentapi.RegistryCredentials{}, berth.Errorf(berth.CodeInvalid, "no such JSON")
		}
		if registry == "unsaid.example" {
			return agentapi.RegistryCredentials{}, nil
		}
		return agentapi.RegistryCredentials{Registry: registry, Password: agentapi.Secret{SecretValue: berth.NewSecretValue([]byte("for " + registry))}}, nil
	}
	provision := func(p *remote.Provider, image *string) error {
		_, err := p.Provision(t.Context(), berth.SandboxSpec{ID: ref.ID, Environment: berth.Environment{Image: berth.Image{Docker: image}}})
		return err
	}
	private, broken, malformed, unsaid := "host:5000/a/b:1", "broken.example/a", "A B", "unsaid.example/a"
	p := dial(t, c)
	for image, want := range map[*string]string{&private: "host:5000", nil: "docker.io"} {
		bodies = nil
		if err := provision(p, image); err != nil || bodies[0].Registry == nil || bodies[0].Registry.Registry != want ||
			string(bodies[0].Registry.Password.Reveal()) != "for "+want {
			t.Errorf("for %s: %+v, %v", want, bodies, err)
		}
	}
	bodies = nil
	if err := provision(p, &malformed); err != nil || bodies[0].Registry != nil {
		t.Errorf("for no image: %+v, %v", bodies, err)
	}
	bodies = nil
	if err := provision(p, &unsaid); err != nil || bodies[0].Registry != nil {
		t.Errorf("of a registry of which nothing is said: %+v, %v", bodies, err)
	}
	if err := provision(p, &broken); berth.CodeOf(err) != berth.CodeInvalid || len(bodies) != 1 {
		t.Errorf("for credentials that cannot be read: %v", err)
	}
	if err := provision(dial(t, s.config()), &private); err != nil || bodies[1].Registry != nil {
		t.Errorf("without credentials: %+v, %v", bodies, err)
	}
}

func TestURLsAndTokensThatCanBeNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, token string }{
		{"", "t"},
		{"http://127.0.0.1:1", "t"},
		{"127.0.0.1:1", "t"},
		{"https://", "t"},
		{"https://u:p@127.0.0.1:1", "t"},
		{"https://127.0.0.1:1/path", "t"},
		{"https://127.0.0.1:1?q", "t"},
		{"https://127.0.0.1:1", ""},
		{"https://127.0.0.1:1", "a b"},
		{"https://127.0.0.1:1", "a\n"},
		{"https://127.0.0.1:1", "é"},
	} {
		_, err := remote.New(remote.Config{URL: tt.url, Token: tt.token})
		if berth.CodeOf(err) != berth.CodeInvalid || strings.Contains(err.Error(), "u:p") {
			t.Errorf("New(%q, %q): %v", tt.url, tt.token, err)
		}
	}
	if _, err := remote.New(remote.Config{URL: "https://[::1]:7443/", Token: "t"}); err != nil {
		t.Error(err)
	}
}

func TestTheAgentsHealthIsRead(t *testing.T) {
	t.Parallel()
	want := agentapi.Health{Version: "v", Installation: "mine", Providers: []agentapi.ProviderHealth{}, Capacity: agentapi.Capacity{CPUs: 7}}
	s := newScript(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", agentapi.MediaJSON)
		_ = json.NewEncoder(w).Encode(want)
	})
	got, err := dial(t, s.config()).Health(t.Context())
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Health = %+v, %v", got, err)
	}
}
