package serverless

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// lentTo is an agent that makes nothing, and notes which registries it is lent
// credentials of as it is to.
type lentTo struct {
	*httptest.Server
	mu         sync.Mutex // guards what follows
	registries []string   // one a request; empty for none
}

func newLentTo(t *testing.T) *lentTo {
	t.Helper()
	a := &lentTo{}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked agentapi.Provision
		if r.Method == http.MethodPut && json.NewDecoder(r.Body).Decode(&asked) == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			registry := ""
			if asked.Registry != nil {
				registry = asked.Registry.Registry
			}
			a.registries = append(a.registries, registry)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *lentTo) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.registries)
}

// wired is a wiring whose table is in a file, with the one host eu-1.
func wired(t *testing.T, a *lentTo) *Wiring {
	t.Helper()
	clock, secrets := berth.SystemClock{}, &runnertest.Secrets{}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	logger := slog.New(slog.DiscardHandler)
	w := &Wiring{
		Variables: Variables{Installation: "test"}, Logger: logger, secrets: secrets, clock: clock, ids: ids.New(clock), metrics: metric.New(nil),
		Records: &records.Store{Table: table, Blobs: &runnertest.Blobs{}, Clock: clock, IDs: ids.New(clock)},
	}
	w.providers = control.NewProviders(w.openHosts(fleet.LendFrom(secrets)))
	for name, value := range map[string]string{
		"user/DOCKER_AUTHS": `{"auths": {"docker.io": {"username": "u", "password": "p"}}}`, berth.HostSecret("eu-1"): "bearer",
	} {
		if err := secrets.Put(t.Context(), name, berth.NewSecretValue([]byte(value))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Records.CreateHost(t.Context(), records.StoredHost{Host: berth.Host{ID: "eu-1"}}, "hash", clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	join, h, err := w.Records.ClaimJoin(t.Context(), "hash", clock.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	now := clock.Now()
	h.Address, h.Fingerprint, h.SeenAt = a.URL, agentapi.FingerprintOf(a.Certificate().Raw).String(), &now
	h.Providers, h.HostCapacity = []berth.ProviderKind{berth.ProviderDocker}, berth.HostCapacity{CPU: 8, MemoryBytes: 16e9, Architecture: "amd64"}
	if _, err := w.Records.CompleteJoin(t.Context(), join, h, berth.Key{ID: "key", Host: "eu-1"}, "key"); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAgentsAreLentCredentialsByAllButTheSweeper(t *testing.T) {
	t.Parallel()
	agent := newLentTo(t)
	w := wired(t, agent)
	e := berth.EnvironmentDefaults()
	e.ID, e.Provider, e.Docker = "warm", berth.ProviderDocker, &berth.DockerOptions{PoolSize: 1}
	e = berth.NormalizeEnvironment(e)
	if _, err := w.Records.CreateEnvironment(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	docker, err := w.Runner().Providers.Find(berth.ProviderDocker)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = docker.Provision(t.Context(), berth.SandboxSpec{ID: berth.SandboxID(w.ids.NewID()), Host: "eu-1", Environment: e}) // the agent makes none
	lent := agent.asked()
	if !slices.Contains(lent, "docker.io") {
		t.Fatalf("a task lends %q", lent)
	}
	sweep := w.Sweeper()
	for range 4 { // until the sandbox of the pool has its place
		_, _ = sweep(t.Context(), nil)
	}
	swept := agent.asked()[len(lent):]
	if len(swept) == 0 || slices.ContainsFunc(swept, func(registry string) bool { return registry != "" }) {
		t.Errorf("the sweeper lends %q, want that it asks and lends nothing", swept)
	}
}
