package control_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// plane is a control plane with an interpreter that drives its runs.
type plane struct {
	*control.Plane
	t        *testing.T
	provider *runnertest.Provider
	secrets  *runnertest.Secrets
	dir      string
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	clock := berth.SystemClock{}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{t: t, provider: runnertest.NewProvider(), secrets: &runnertest.Secrets{}, dir: dir}
	source := ids.New(clock)
	store := &records.Store{Table: table, Blobs: &runnertest.Blobs{}, Clock: clock, IDs: source, Notifier: &stream.Hub{}}
	logger := slog.New(slog.DiscardHandler)
	r := &runner.Runner{Records: store, Providers: control.NewProviders(p.provider), Secrets: p.secrets, Clock: clock, Installation: "inst", Logger: logger}
	definition, err := runner.Definition(nil)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := asl.New(asl.Config{Definition: definition, Tasks: r.Tasks(), Table: table, Clock: clock, IDs: source, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	r.Orchestrator = machine
	p.Plane = &control.Plane{
		Records: store, Providers: control.NewProviders(p.provider), Secrets: p.secrets, Orchestrator: machine,
		IDs: source, Clock: clock, Installation: "inst", Logger: logger,
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(machine.Close(ctx), table.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// request is a run on local in a folder of the test.
func (p *plane) request(argv ...string) berth.RunRequest {
	return berth.RunRequest{Environment: "local", Command: argv, SourceDirectory: p.dir}
}

func (p *plane) create(req berth.RunRequest) berth.RunID {
	p.t.Helper()
	id, err := p.CreateRun(p.t.Context(), berth.RunID(p.IDs.NewID()), req, "tester")
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *plane) until(id berth.RunID, holds func(berth.Run) bool) berth.Run {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		run, err := p.Records.FindRun(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		if holds(run) {
			return run
		}
	}
	p.t.Fatalf("run %s did not get there", id)
	return berth.Run{}
}

func (p *plane) ended(id berth.RunID) berth.Run {
	p.t.Helper()
	return p.until(id, func(r berth.Run) bool { return r.Status.Ended() })
}

func running(r berth.Run) bool { return r.Stages[len(r.Stages)-1].Status == berth.StageRunning }

func (p *plane) secret(name, value string, kind berth.SecretType) {
	p.t.Helper()
	if err := p.secrets.Put(p.t.Context(), berth.UserSecret(name), berth.NewSecretValue([]byte(value))); err != nil {
		p.t.Fatal(err)
	}
	if _, _, err := p.Records.PutSecret(p.t.Context(), berth.Secret{Name: name, Type: kind}, false); err != nil {
		p.t.Fatal(err)
	}
}

// environment stores a local environment.
func (p *plane) environment(id berth.EnvironmentID, change func(*berth.Environment)) {
	p.t.Helper()
	e := berth.LocalEnvironment()
	e.ID = id
	change(&e)
	if _, err := p.CreateEnvironment(p.t.Context(), e); err != nil {
		p.t.Fatal(err)
	}
}

func wantCode(t *testing.T, doing string, err error, want berth.Code) {
	t.Helper()
	if got := berth.CodeOf(err); got != want {
		t.Errorf("%s = %v (%s), want %s", doing, err, got, want)
	}
}
