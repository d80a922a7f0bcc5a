//go:build linux

package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/privatefile"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

const agentToken = "the-agents-token"

// hostAgent is an agent in this process, which serves whoever calls first.
type hostAgent struct {
	served
	root, guest string
}

func startHostAgent(t *testing.T) *hostAgent {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	a := &hostAgent{
		root: filepath.Join(t.TempDir(), "agent"), guest: sandboxtest.BuildGuest(t), served: served{certificate: s.TLS.Certificates[0]},
	}
	a.start(t)
	t.Cleanup(func() { a.stop() })
	return a
}

func (a *hostAgent) start(t *testing.T) {
	t.Helper()
	var provider *local.Provider
	handler, err := agentapi.New(agentapi.Config{Token: agentToken, Adopt: func(_ context.Context, id berth.InstallationID) (agentapi.Providers, error) {
		var err error
		provider, err = local.New(local.Config{Root: a.root, GuestPath: a.guest, Installation: id})
		return agentapi.Providers{berth.ProviderLocal: provider}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.serve(t, handler, func() {
		if provider != nil {
			provider.Close()
		}
	})
}

func (a *hostAgent) options(t *testing.T) embedded.Agent {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent-token")
	if err := privatefile.Write(file, []byte(agentToken+"\n")); err != nil {
		t.Fatal(err)
	}
	return embedded.Agent{
		URL: "https://" + a.address, Fingerprint: agentapi.FingerprintOf(a.certificate.Certificate[0]).String(), TokenFile: file,
		Kinds: []berth.ProviderKind{berth.ProviderLocal},
	}
}

// serveWith runs a server in this process until the test ends.
func serveWith(t *testing.T, agent embedded.Agent) (api *client.Client, logged func() string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	var mu sync.Mutex
	var text bytes.Buffer
	go func() {
		ended <- embedded.Run(ctx, embedded.Options{
			DataDir: dir, ConfigDir: dir + "-config", Agent: agent, Docker: embedded.Docker{Off: true}, Ready: func(url string) { ready <- url },
			Log: writerFunc(func(b []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return text.Write(b)
			}),
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	select {
	case url := <-ready:
		token, err := embedded.ReadToken(dir)
		if err != nil {
			t.Fatal(err)
		}
		if api, err = client.New(client.Config{BaseURL: url, Token: token}); err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		ended <- nil
		t.Fatalf("the server ended as it started: %v", err)
	}
	return api, func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestARunOnAHostAgentOutlivesTheAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a guest")
	}
	t.Parallel()
	a := startHostAgent(t)
	api, logged := serveWith(t, a.options(t))
	away := 200 * time.Millisecond
	if !testing.Short() {
		away = 6 * time.Second // longer than the client of the agent has patience
	}
	const lines = 100
	created, err := api.CreateRun(t.Context(), berth.RunRequest{
		Environment: "local", SourceDirectory: t.TempDir(), Script: fmt.Sprintf(`for i in $(seq %d); do echo "line $i"; sleep 0.01; done`, lines),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, Client: api}
	for deadline := time.Now().Add(startWait); ; time.Sleep(10 * time.Millisecond) {
		if entries, err := os.ReadDir(a.root); err == nil && len(entries) == 1 {
			break // it is on the agent's host
		}
		if time.Now().After(deadline) {
			t.Fatalf("no sandbox has come:\n%s", logged())
		}
	}
	a.stop()
	time.Sleep(away) // output comes meanwhile
	a.start(t)
	run := p.awaitRun(created.ID)
	if run.Status != berth.RunSucceeded {
		t.Fatalf("the run is %s: %+v\n%s", run.Status, run.Reason, logged())
	}
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	if got := p.log(run).stdout.String(); got != want.String() {
		t.Errorf("the log is\n%s", got)
	}
	if entries, err := os.ReadDir(a.root); err != nil || len(entries) != 0 {
		t.Errorf("left on the agent's host: %v, %v", entries, err)
	}
	if text := logged(); !strings.Contains(text, "the host agent makes sandboxes") || strings.Contains(text, agentToken) {
		t.Errorf("the log is\n%s", text)
	}
}

func TestAServerStartsWithoutItsAgentAndSaysSo(t *testing.T) {
	t.Parallel()
	a := startHostAgent(t)
	o := a.options(t)
	a.stop()
	_, logged := serveWith(t, o)
	for deadline := time.Now().Add(startWait); !strings.Contains(logged(), "cannot be used now"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is logged of the agent:\n%s", logged())
		}
	}
}

func TestWrongAgentOptionsNameTheirFlag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := privatefile.Write(file, []byte(agentToken)); err != nil {
		t.Fatal(err)
	}
	good := embedded.Agent{URL: "https://127.0.0.1:1", Fingerprint: strings.Repeat("ab", 32), TokenFile: file, Kinds: []berth.ProviderKind{berth.ProviderLocal}}
	for _, tt := range []struct {
		name, flag string
		change     func(*embedded.Agent)
	}{
		{"a URL without TLS", "--agent", func(a *embedded.Agent) { a.URL = "http://127.0.0.1:1" }},
		{"no fingerprint", "--agent-fingerprint", func(a *embedded.Agent) { a.Fingerprint = "" }},
		{"a short fingerprint", "--agent-fingerprint", func(a *embedded.Agent) { a.Fingerprint = "sha256:abcd" }},
		{"no token file", "--agent-token-file", func(a *embedded.Agent) { a.TokenFile = "" }},
		{"a token file that is not there", "--agent-token-file", func(a *embedded.Agent) { a.TokenFile = file + "x" }},
		{"a provider that the server has itself", "--agent-provider", func(*embedded.Agent) {}},
	} {
		agent := good
		tt.change(&agent)
		dir := filepath.Join(t.TempDir(), "data")
		err := embedded.Run(t.Context(), embedded.Options{
			DataDir: dir, ConfigDir: dir + "-config", Agent: agent, Docker: embedded.Docker{Off: true}, Log: io.Discard, AllowLocal: true, GuestPath: "/bin/true",
		})
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.HasPrefix(err.Error(), tt.flag+":") || strings.Contains(err.Error(), agentToken) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
