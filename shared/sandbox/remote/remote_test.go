//go:build linux

package remote_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/listen/listentest"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

const (
	token        = "test-token-of-the-agent"
	installation = berth.InstallationID("test")
)

func spec(t testing.TB) berth.SandboxSpec {
	return berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: installation, Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir()}
}

// agent is a host agent in this process that can be killed and started again.
type agent struct {
	open        func(root string) (closer, error)
	root        string
	door        *listentest.Door
	certificate tls.Certificate
	provider    closer
	handler     *agentapi.Server
	server      *http.Server
	fetcher     *http.Client
	nudges      chan berth.Nudge
	served      sync.WaitGroup
}

type closer interface {
	berth.Provider
	io.Closer
}

// newCertificate takes that of a test server, which is as good as any.
func newCertificate(t testing.TB) tls.Certificate {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates[0]
}

// startLocal starts an agent with the provider local.
func startLocal(t testing.TB) *agent {
	guest := sandboxtest.BuildGuest(t)
	return startAgent(t, func(root string) (closer, error) {
		return local.New(local.Config{Root: root, GuestPath: guest, Installation: installation})
	})
}

func startAgent(t testing.TB, open func(root string) (closer, error)) *agent {
	t.Helper()
	a := &agent{open: open, root: filepath.Join(t.TempDir(), "sandboxes"), door: listentest.Open(t), certificate: newCertificate(t), nudges: make(chan berth.Nudge, 100)}
	a.start(t)
	t.Cleanup(a.stop)
	return a
}

func (a *agent) start(t testing.TB) {
	t.Helper()
	provider, err := a.open(a.root)
	if err != nil {
		t.Fatal(err)
	}
	config := agentapi.Config{
		Token: token, Installation: installation, Providers: agentapi.Providers{provider.Kind(): provider},
		Nudge: func(n berth.Nudge) { a.nudges <- n }, Fetcher: a.fetcher,
	}
	handler, err := agentapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	l := a.door.Enter()
	a.provider, a.handler = provider, handler
	a.server = &http.Server{Handler: handler, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{a.certificate}}}
	server := a.server
	a.served.Go(func() { _ = server.ServeTLS(l, "", "") }) // it ends with the server
}

// stop breaks off what is being answered, as a death would.
func (a *agent) stop() {
	a.server.Close()
	a.served.Wait()
	a.handler.Close()
	a.provider.Close()
}

func (a *agent) config() remote.Config {
	return remote.Config{
		URL: "https://" + a.door.Address(), Fingerprint: agentapi.FingerprintOf(a.certificate.Certificate[0]), Token: token,
		Kind: a.provider.Kind(), Installation: installation,
	}
}

func connect(t testing.TB, config remote.Config) *remote.Provider {
	t.Helper()
	p, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestRemoteKeepsTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	t.Parallel()
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
		a := startLocal(t)
		p := connect(t, a.config())
		return sandboxtest.Fixture{
			Provider: p,
			Spec:     spec,
			Reopen: func(sub testing.TB) berth.Provider {
				a.stop()
				a.start(sub)
				return p // whose idle connections are dead
			},
			KillGuest: func(t testing.TB, ref berth.SandboxRef) {
				if err := syscall.Kill(a.guestPID(t, ref.ID), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				left := sandboxtest.Left(string(id))
				if _, err := os.Stat(filepath.Join(a.root, string(id))); !os.IsNotExist(err) {
					left = append(left, "its folder")
				}
				return left
			},
		}
	})
}

// guestPID finds the guest by its command line, which names the folder.
func (a *agent) guestPID(t testing.TB, id berth.SandboxID) int {
	t.Helper()
	return sandboxtest.Process(t, "berth-guest\x00-dir\x00"+filepath.Join(a.root, string(id)))
}
