package tabletest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// wantIndex waits until the query of an index gives these items.
func (e *env) wantIndex(t *testing.T, q berth.Query, want []berth.Item) {
	t.Helper()
	diff := ""
	e.settle(t, fmt.Sprintf("%d items for %+v", len(want), q), func() bool {
		diff = cmp.Diff(want, e.walk(t.Context(), t, q), cmpopts.EquateEmpty())
		return diff == ""
	})
}

func (suite) index(t *testing.T, e *env) {
	runs := berth.IndexKey{PK: "run#2030-01", SK: "r1"}
	hosts := berth.IndexKey{PK: "host-a", SK: "r1"}
	e.mustPut(t, berth.Item{
		PK: "run#r1", SK: "head", Index1: runs, Index2: hosts, Projected: "running",
		Body: []byte("{}"), Expires: e.clock.Now().Add(100 * 24 * hour),
	})
	one := berth.Item{PK: "run#r1", SK: "head", Index1: runs, Projected: "running"}
	two := berth.Item{PK: "run#r1", SK: "head", Index2: hosts, Projected: "running"}
	e.wantIndex(t, berth.Query{Index: 1, PK: "run#2030-01", Limit: 10}, []berth.Item{one})
	e.wantIndex(t, berth.Query{Index: 2, PK: "host-a", Limit: 10}, []berth.Item{two})
	e.wantIndex(t, berth.Query{Index: 1, PK: "host-a", Limit: 10}, nil)

	for _, id := range []string{"r2", "r3", "s1"} {
		e.mustPut(t, berth.Item{PK: "run#" + id, SK: "head", Index1: berth.IndexKey{PK: "run#2030-01", SK: id}, Projected: id})
	}
	for _, test := range []struct {
		q    berth.Query
		want []string
	}{
		{berth.Query{}, []string{"r1", "r2", "r3", "s1"}},
		{berth.Query{Prefix: "r"}, []string{"r1", "r2", "r3"}},
		{berth.Query{Prefix: "r", After: "r1", Before: "r3"}, []string{"r2"}},
		{berth.Query{After: "r2"}, []string{"r3", "s1"}},
		{berth.Query{Before: "r2"}, []string{"r1"}},
	} {
		for _, desc := range []bool{false, true} {
			for _, limit := range []int{1, 3} {
				q, want := test.q, slices.Clone(test.want)
				q.Index, q.PK, q.Descending, q.Limit = 1, "run#2030-01", desc, limit
				if desc {
					slices.Reverse(want)
				}
				var got []string
				e.settle(t, fmt.Sprintf("%v for %+v", want, q), func() bool {
					got = nil
					for _, i := range e.walk(t.Context(), t, q) {
						got = append(got, i.Index1.SK)
					}
					return slices.Equal(got, want)
				})
			}
		}
	}
}

func (suite) sparseIndex(t *testing.T, e *env) {
	q := berth.Query{Index: 1, PK: "i", Limit: 10}
	in := berth.Item{PK: "p", SK: "s", Index1: berth.IndexKey{PK: "i", SK: "1"}, Projected: "a"}
	e.mustPut(t, berth.Item{PK: "p", SK: "outside"})
	e.mustPut(t, in)
	e.wantIndex(t, q, []berth.Item{in})

	moved := in
	moved.Index1.SK, moved.Projected = "2", "b"
	e.mustPut(t, at(moved, 1))
	e.wantIndex(t, q, []berth.Item{moved})

	e.mustPut(t, berth.Item{PK: "p", SK: "s", Version: 2})
	e.wantIndex(t, q, nil)

	e.mustPut(t, at(in, 3))
	e.wantIndex(t, q, []berth.Item{in})
	if err := e.Delete(t.Context(), "p", "s", 4); err != nil {
		t.Fatal(err)
	}
	e.wantIndex(t, q, nil)
}

func (suite) indexTies(t *testing.T, e *env) {
	want := map[[2]string]bool{}
	for p := range 3 {
		for s := range 4 {
			i := item(fmt.Sprintf("p%d", p), fmt.Sprintf("s%d", s), "")
			i.Index2 = berth.IndexKey{PK: "ties", SK: "same"}
			e.mustPut(t, i)
			want[[2]string{i.PK, i.SK}] = true
		}
	}
	for _, desc := range []bool{false, true} {
		for _, limit := range []int{1, 5, 12} {
			q := berth.Query{Index: 2, PK: "ties", Limit: limit, Descending: desc}
			e.settle(t, "all equal sort keys", func() bool { return len(e.walk(t.Context(), t, q)) == len(want) })
			got := map[[2]string]bool{}
			for _, i := range e.walk(t.Context(), t, q) {
				got[[2]string{i.PK, i.SK}] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("limit %d, descending %v, want (-) got (+):\n%s", limit, desc, diff)
			}
		}
	}
}
