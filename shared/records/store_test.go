package records_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

type fixture struct {
	*records.Store
	t     testing.TB
	clock *runnertest.ManualClock
	blobs *runnertest.Blobs
	hub   *stream.Hub
}

// pausing stands still but for the short pauses between two tries.
type pausing struct{ *runnertest.ManualClock }

func (pausing) Sleep(ctx context.Context, d time.Duration) error {
	return berth.SystemClock{}.Sleep(ctx, d)
}

func newStore(t testing.TB) *fixture {
	t.Helper()
	clock := runnertest.NewManualClock()
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, clock: clock, blobs: &runnertest.Blobs{}, hub: &stream.Hub{}}
	f.Store = &records.Store{Table: table, Blobs: f.blobs, Clock: pausing{clock}, IDs: ids.New(clock), Notifier: f.hub}
	return f
}

func definition() berth.Definition {
	return berth.Definition{Environment: berth.LocalEnvironment(), Command: []string{"true"}}
}

const stageID = "01-command"

// run records a run of one stage.
func (f *fixture) run() records.Head {
	f.t.Helper()
	head, err := f.CreateRun(f.t.Context(), records.Head{ID: berth.RunID(f.IDs.NewID()), CreatedBy: "test"}, definition(),
		[]berth.Stage{{ID: stageID, Kind: berth.StageCommand, Name: "command", Status: berth.StagePending, Command: "stage-01-command"}},
		berth.Sandbox{ID: berth.SandboxID(f.IDs.NewID()), Status: berth.SandboxCreating, Provider: berth.ProviderLocal})
	if err != nil {
		f.t.Fatal(err)
	}
	return head
}

// moved takes a run through statuses.
func (f *fixture) moved(id berth.RunID, statuses ...berth.RunStatus) records.Head {
	f.t.Helper()
	var head records.Head
	for _, status := range statuses {
		var err error
		head, err = f.ChangeRun(f.t.Context(), id, func(c *records.Change) error { c.SetStatus(status); return nil })
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return head
}

func (f *fixture) events(id berth.RunID) []berth.Event {
	f.t.Helper()
	events, err := f.ListEvents(f.t.Context(), id, 0, 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) || e.Run != id {
			f.t.Fatalf("event %d is number %d of run %s", i+1, e.Seq, e.Run)
		}
	}
	return events
}

func wantCode(t testing.TB, doing string, err error, want berth.Code) {
	t.Helper()
	if got := berth.CodeOf(err); got != want {
		t.Errorf("%s = %v (%s), want %s", doing, err, got, want)
	}
}

const day = 24 * time.Hour
