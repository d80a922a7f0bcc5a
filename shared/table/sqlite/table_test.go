package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table/sqlite"
	"github.com/berth-dev/berth/shared/table/tabletest"
)

func open(t *testing.T, clock berth.Clock) *sqlite.Table {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "berth.db"), clock)
}

func openAt(t testing.TB, path string, clock berth.Clock) *sqlite.Table {
	t.Helper()
	table, err := sqlite.Open(t.Context(), path, clock)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return table
}

func TestContract(t *testing.T) {
	t.Parallel()
	tabletest.Run(t, func(t *testing.T, clock berth.Clock) berth.Table { return open(t, clock) })
}

func TestContractWithLateIndexes(t *testing.T) {
	t.Parallel()
	tabletest.Run(t, func(t *testing.T, clock berth.Clock) berth.Table {
		replica := func(clock berth.Clock) berth.Table { return open(t, clock) }
		return tabletest.NewDelayed(open(t, clock), replica, clock, 5*time.Second)
	})
}

func TestALateIndexShowsAWriteOnlyLater(t *testing.T) {
	t.Parallel()
	clock := tabletest.NewClock()
	replica := func(clock berth.Clock) berth.Table { return open(t, clock) }
	late := tabletest.NewDelayed(open(t, clock), replica, clock, 5*time.Second)
	item := berth.Item{PK: "p", SK: "s", Index1: berth.IndexKey{PK: "i", SK: "1"}}
	if _, err := late.Put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 0}, {4 * time.Second, 0}, {time.Second, 1}} {
		clock.Advance(step.wait)
		page, err := late.Query(t.Context(), berth.Query{Index: 1, PK: "i", Limit: 10})
		if err != nil || len(page.Items) != step.want {
			t.Fatalf("after %v more: %d items, %v; want %d", step.wait, len(page.Items), err, step.want)
		}
	}
}
