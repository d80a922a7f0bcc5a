package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// agent is a host's provider in memory, which can be down, and answers to one
// bearer alone.
type agent struct {
	*runnertest.Provider

	mu     sync.Mutex // guards what follows
	bearer string
	down   error
	dials  int
	// preview is the URL that it gives out for browsers.
	preview string
}

func (a *agent) set(change func(*agent)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

// link is a connection to an agent, with the bearer that it was made with.
type link struct {
	*runnertest.Provider
	agent  *agent
	bearer string
}

func (l link) fault() error {
	l.agent.mu.Lock()
	defer l.agent.mu.Unlock()
	if l.agent.down != nil {
		return l.agent.down
	}
	if l.bearer != l.agent.bearer {
		return berth.Errorf(berth.CodeUnauthenticated, "the bearer is not known")
	}
	return nil
}

func (l link) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := l.fault(); err != nil {
		return berth.SandboxState{}, err
	}
	return l.Provider.Provision(ctx, spec)
}

func (l link) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	if err := l.fault(); err != nil {
		return berth.SandboxState{}, err
	}
	return l.Provider.Describe(ctx, ref)
}

func (l link) Stop(ctx context.Context, ref berth.SandboxRef) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Provider.Stop(ctx, ref)
}

func (l link) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Provider.Destroy(ctx, ref)
}

func (l link) List(ctx context.Context) ([]berth.SandboxState, error) {
	if err := l.fault(); err != nil {
		return nil, err
	}
	return l.Provider.List(ctx)
}

func (l link) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Provider.StartCommand(ctx, ref, spec)
}

func (l link) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	if err := l.fault(); err != nil {
		return berth.CommandState{}, err
	}
	return l.Provider.DescribeCommand(ctx, ref, id)
}

func (l link) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	if err := l.fault(); err != nil {
		return berth.Output{}, err
	}
	return l.Provider.ReadOutput(ctx, ref, id, offset, limit, wait)
}

func (l link) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Provider.Cancel(ctx, ref, id)
}

func (l link) Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Provider.Arm(ctx, ref, id, offset)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// pausing is a clock that stands still but for the pauses of writers that race.
type pausing struct{ *runnertest.ManualClock }

func (pausing) Sleep(ctx context.Context, d time.Duration) error {
	return berth.SystemClock{}.Sleep(ctx, min(d, 10*time.Millisecond))
}

// fixture is a fleet whose hosts are in memory.
type fixture struct {
	*fleet.Fleet
	t       *testing.T
	clock   *runnertest.ManualClock
	table   *sqlite.Table
	records *records.Store
	secrets *runnertest.Secrets
	agents  map[berth.HostID]*agent
	engine  berth.Provider // the server's own; nil is none
	joins   int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: runnertest.NewManualClock(), secrets: &runnertest.Secrets{}, agents: map[berth.HostID]*agent{}}
	var err error
	if f.table, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), f.clock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.table.Close() })
	f.records = &records.Store{Table: f.table, Blobs: &runnertest.Blobs{}, Clock: pausing{f.clock}, IDs: ids.New(f.clock), Notifier: &stream.Hub{}}
	f.Fleet = fleet.New(fleet.Config{
		Records: f.records, Secrets: f.secrets, Installation: "inst", Clock: pausing{f.clock}, Logger: quiet(),
		Local: func() (berth.Provider, string) {
			if f.engine == nil {
				return nil, "no engine answers"
			}
			return f.engine, ""
		},
		Dial: func(m fleet.Member) (berth.Provider, error) {
			a := f.agents[m.Host]
			a.set(func(a *agent) { a.dials++ })
			return link{Provider: a.Provider, agent: a, bearer: string(m.Bearer.Reveal())}, nil
		},
	})
	return f
}

// host lets a host join, also one that has joined before and was removed.
func (f *fixture) host(id berth.HostID, cores int, memory int64, labels ...string) *agent {
	f.t.Helper()
	f.joins++
	hash, bearer := fmt.Sprint("join", f.joins), fmt.Sprint("bearer", f.joins)
	h := records.StoredHost{Host: berth.Host{ID: id, Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		h.Labels[labels[i]] = labels[i+1]
	}
	if _, err := f.records.CreateHost(f.t.Context(), h, hash, f.clock.Now().Add(time.Minute)); err != nil {
		f.t.Fatal(err)
	}
	join, h, err := f.records.ClaimJoin(f.t.Context(), hash, f.clock.Now().Add(time.Minute))
	if err != nil {
		f.t.Fatal(err)
	}
	h.Address, h.Providers = "https://"+string(id), []berth.ProviderKind{berth.ProviderDocker}
	h.HostCapacity = berth.HostCapacity{CPU: cores, MemoryBytes: memory, Architecture: "amd64"}
	if err := f.secrets.Put(f.t.Context(), "provider/host/"+string(id), berth.NewSecretValue([]byte(bearer))); err != nil {
		f.t.Fatal(err)
	}
	if _, err = f.records.CompleteJoin(f.t.Context(), join, h, berth.Key{ID: berth.KeyID(hash), Host: id}, hash); err != nil {
		f.t.Fatal(err)
	}
	if f.agents[id] == nil {
		f.agents[id] = &agent{Provider: runnertest.NewProvider()}
	}
	f.agents[id].set(func(a *agent) { a.bearer = bearer })
	return f.agents[id]
}

// beat is a heartbeat of hosts.
func (f *fixture) beat(ids ...berth.HostID) {
	f.t.Helper()
	for _, id := range ids {
		_, err := f.records.ChangeHost(f.t.Context(), id, func(h *records.StoredHost) error { at := f.clock.Now(); h.SeenAt = &at; return nil })
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) change(id berth.HostID, change func(*records.StoredHost)) {
	f.t.Helper()
	if _, err := f.records.ChangeHost(f.t.Context(), id, func(h *records.StoredHost) error { change(h); return nil }); err != nil {
		f.t.Fatal(err)
	}
}

// environment demands cores and memory, and labels of its host.
func environment(cores int, memory berth.Size, labels ...string) berth.Environment {
	e := berth.EnvironmentDefaults()
	e.ID, e.Provider = "ci", berth.ProviderDocker
	e.Resources = berth.Resources{CPU: &cores, Memory: &memory}
	e.Labels = map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		e.Labels[labels[i]] = labels[i+1]
	}
	return berth.NormalizeEnvironment(e)
}

func (f *fixture) sandbox() berth.SandboxID { return berth.SandboxID(f.records.IDs.NewID()) }

// made provisions a sandbox on a host.
func (f *fixture) made(host berth.HostID) berth.SandboxRef {
	f.t.Helper()
	id := f.sandbox()
	state, err := f.Provision(f.t.Context(), berth.SandboxSpec{ID: id, Host: host, Environment: environment(1, "1GB")})
	if err != nil || state.Status != berth.SandboxReady || state.Host != host {
		f.t.Fatalf("Provision() on %q = %+v, %v", host, state, err)
	}
	return berth.SandboxRef{ID: id, Host: host, Ref: state.Ref}
}

var errDown = berth.Errorf(berth.CodeUnavailable, "the host agent cannot be reached")
