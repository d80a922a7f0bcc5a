package main

import (
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

func TestARunOfOneStageKeepsItsBudgets(t *testing.T) {
	t.Parallel()
	got, err := countRun(t.Context(), "true")
	if err != nil {
		t.Fatal(err)
	}
	if got.Transitions < 10 || got.Transitions > transitionBudget || got.StateBytes < 500 || got.LargestState > 1000 {
		t.Errorf("counted %+v", got)
	}
}

func TestWriteUnitsGrowWithTheOutputWithinTheBudget(t *testing.T) {
	t.Parallel()
	mebibytes := 100
	if testing.Short() {
		mebibytes = 10
	}
	small, err := countRun(t.Context(), "true")
	if err != nil {
		t.Fatal(err)
	}
	got, err := countRun(t.Context(), "bytes", []string{"10485760", "104857600"}[mebibytes/100])
	if err != nil {
		t.Fatal(err)
	}
	each := (got.Written - small.Written) / float64(mebibytes)
	if each < 4 || got.Blobs < mebibytes || small.Written+100*each > unitBudget {
		t.Errorf("%.1f units for each MiB, %+v", each, got)
	}
}

func TestUnitsAreReckonedAsDynamoDBDoes(t *testing.T) {
	t.Parallel()
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), berth.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	m := newMetered(table)
	body := func(n int) []byte { return make([]byte, n) }
	check := func(what string, written float64, err error) {
		t.Helper()
		before := m.Written
		m.Written = 0
		if err != nil || before != written {
			t.Errorf("%s: %v units, want %v, %v", what, before, written, err)
		}
	}
	_, err = m.Put(t.Context(), berth.Item{PK: "p", SK: "a", Body: body(500)})
	check("a small item", 2, err)
	_, err = m.Put(t.Context(), berth.Item{PK: "p", SK: "a", Version: 1, Body: body(3 << 10)})
	check("it grows over 3 KB", 8, err)
	_, err = m.Put(t.Context(), berth.Item{PK: "p", SK: "a", Version: 2, Body: body(1)})
	check("it shrinks again", 8, err)
	indexed := berth.Item{PK: "p", SK: "b", Body: body(10), Index1: berth.IndexKey{PK: "i", SK: "s"}, Projected: "x"}
	_, err = m.Put(t.Context(), indexed)
	check("an item in an index", 3, err)
	indexed.Version, indexed.Body = 1, body(20)
	_, err = m.Put(t.Context(), indexed)
	check("what the index does not carry changes", 2, err)
	indexed.Version, indexed.Projected = 2, "y"
	_, err = m.Put(t.Context(), indexed)
	check("what it carries changes", 3, err)
	check("an item of an index goes", 3, m.Delete(t.Context(), "p", "b", 3))
	check("two writes and a check", 6, m.Transact(t.Context(), []berth.Write{
		{Item: berth.Item{PK: "q", SK: "1"}}, {Item: berth.Item{PK: "q", SK: "2"}}, {Item: berth.Item{PK: "p", SK: "a", Version: 3}, Check: true},
	}))
	if _, err := m.Get(t.Context(), "p", "a"); err != nil || m.Read != 1 {
		t.Errorf("a read takes %v units, %v", m.Read, err)
	}
}
