package tabletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// walk follows the pages of q to the end and returns the items.
func (e *env) walk(ctx context.Context, t failer, q berth.Query) []berth.Item {
	t.Helper()
	var items []berth.Item
	for range 2000 {
		page, err := e.Query(ctx, q)
		if err != nil {
			t.Fatalf("Query(%+v): %v", q, err)
		}
		if len(page.Items) > q.Limit {
			t.Fatalf("Query(%+v) gave %d items, over its limit", q, len(page.Items))
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items
		}
		if page.Next == q.Cursor {
			t.Fatalf("Query(%+v) gave the same cursor again", q)
		}
		q.Cursor = page.Next
	}
	t.Fatalf("Query(%+v) does not end", q)
	return nil
}

func sortKeys(items []berth.Item) []string {
	keys := []string{}
	for _, i := range items {
		keys = append(keys, i.SK)
	}
	return keys
}

func (suite) bounds(t *testing.T, e *env) {
	for _, sk := range []string{"a", "b#1", "b#2", "b#3", "b$", "c", "d"} {
		e.mustPut(t, item("p", sk, sk))
	}
	e.mustPut(t, item("p2", "b#9", "other partition"))
	for _, test := range []struct {
		name string
		q    berth.Query
		want string
	}{
		{"all", berth.Query{}, "a b#1 b#2 b#3 b$ c d"},
		{"prefix", berth.Query{Prefix: "b#"}, "b#1 b#2 b#3"},
		{"prefix that is a whole key", berth.Query{Prefix: "b#2"}, "b#2"},
		{"prefix of nothing", berth.Query{Prefix: "bb"}, ""},
		{"after is exclusive", berth.Query{After: "b#2"}, "b#3 b$ c d"},
		{"after a key that is not there", berth.Query{After: "b#25"}, "b#3 b$ c d"},
		{"before is exclusive", berth.Query{Before: "b#2"}, "a b#1"},
		{"after and before", berth.Query{After: "a", Before: "c"}, "b#1 b#2 b#3 b$"},
		{"prefix and after", berth.Query{Prefix: "b#", After: "b#1"}, "b#2 b#3"},
		{"prefix and before", berth.Query{Prefix: "b#", Before: "b#3"}, "b#1 b#2"},
		{"prefix, after and before", berth.Query{Prefix: "b#", After: "b#1", Before: "b#3"}, "b#2"},
		{"after below the prefix", berth.Query{Prefix: "b#", After: "a"}, "b#1 b#2 b#3"},
		{"before above the prefix", berth.Query{Prefix: "b#", Before: "x"}, "b#1 b#2 b#3"},
		{"after above the prefix", berth.Query{Prefix: "b#", After: "c"}, ""},
		{"before below the prefix", berth.Query{Prefix: "b#", Before: "a"}, ""},
		{"bounds that cross", berth.Query{After: "c", Before: "b"}, ""},
		{"bounds that touch", berth.Query{After: "b#1", Before: "b#2"}, ""},
		{"bounds that are equal", berth.Query{After: "b#1", Before: "b#1"}, ""},
		{"after the last", berth.Query{After: "d"}, ""},
	} {
		for _, desc := range []bool{false, true} {
			for _, limit := range []int{1, 2, 100} {
				q := test.q
				q.PK, q.Descending, q.Limit = "p", desc, limit
				want := strings.Fields(test.want)
				if desc {
					slices.Reverse(want)
				}
				got := sortKeys(e.walk(t.Context(), t, q))
				if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
					t.Errorf("%s, descending %v, limit %d: want (-) got (+):\n%s", test.name, desc, limit, diff)
				}
			}
		}
	}
}

func (suite) pageWalk(t *testing.T, e *env) {
	var want []berth.Item
	for n := range 25 {
		i := item("walk", fmt.Sprintf("%03d", n), fmt.Sprint(n))
		e.mustPut(t, i)
		want = append(want, at(i, 1))
	}
	got := e.walk(t.Context(), t, berth.Query{PK: "walk", Limit: 1})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("ascending, want (-) got (+):\n%s", diff)
	}
	slices.Reverse(want)
	got = e.walk(t.Context(), t, berth.Query{PK: "walk", Limit: 1, Descending: true})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("descending, want (-) got (+):\n%s", diff)
	}

	// The walk goes on from a place, not from an item: that may be gone.
	page, err := e.Query(t.Context(), berth.Query{PK: "walk", Limit: 5})
	if err != nil || page.Next == "" {
		t.Fatalf("Query = next %q, %v; want a next page", page.Next, err)
	}
	if err := e.Delete(t.Context(), "walk", "004", 1); err != nil {
		t.Fatal(err)
	}
	page, err = e.Query(t.Context(), berth.Query{PK: "walk", Limit: 3, Cursor: page.Next})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"005", "006", "007"}, sortKeys(page.Items)); diff != "" {
		t.Fatalf("after the last item of a page was removed, with another limit, want (-) got (+):\n%s", diff)
	}
}

func (s suite) pagesEqualWhole(t *testing.T, e *env) {
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; s.features.PropertyRuns > 0 && runs > s.features.PropertyRuns {
			return
		}
		key := rapid.StringMatching("[ab#é\U0010FFFF]{1,4}")
		keys := rapid.SliceOfNDistinct(key, 0, 12, rapid.ID).Draw(rt, "keys")
		pk := fmt.Sprintf("property-%d", runs)
		for _, sk := range keys {
			if _, err := e.Put(t.Context(), item(pk, sk, sk)); err != nil {
				rt.Fatalf("Put(%q, %q): %v", pk, sk, err)
			}
		}
		bound := rapid.OneOf(rapid.Just(""), key)
		q := berth.Query{
			PK:         pk,
			Prefix:     rapid.OneOf(rapid.Just(""), rapid.StringMatching("[ab#é\U0010FFFF]{1,2}")).Draw(rt, "prefix"),
			After:      bound.Draw(rt, "after"),
			Before:     bound.Draw(rt, "before"),
			Descending: rapid.Bool().Draw(rt, "descending"),
			Limit:      rapid.IntRange(1, 5).Draw(rt, "limit"),
		}
		want := []string{}
		for _, sk := range keys {
			if strings.HasPrefix(sk, q.Prefix) && (q.After == "" || sk > q.After) && (q.Before == "" || sk < q.Before) {
				want = append(want, sk)
			}
		}
		slices.Sort(want)
		if q.Descending {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, sortKeys(e.walk(t.Context(), rt, q))); diff != "" {
			rt.Fatalf("Query(%+v), want (-) got (+):\n%s", q, diff)
		}
	})
}

func (suite) largePages(t *testing.T, e *env) {
	body := strings.Repeat("x", berth.MaxItemBytes)
	const n = 13
	for i := range n {
		e.mustPut(t, item("large", fmt.Sprintf("%02d", i), body))
	}
	page, err := e.Query(t.Context(), berth.Query{PK: "large", Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) == n || page.Next == "" {
		t.Errorf("one page holds %d items of %d bytes, want it to end near 1 MiB with a next page", len(page.Items), len(body))
	}
	got := e.walk(t.Context(), t, berth.Query{PK: "large", Limit: n})
	if len(got) != n {
		t.Fatalf("the pages hold %d items, want %d", len(got), n)
	}
	for _, i := range got {
		if string(i.Body) != body {
			t.Fatalf("the body of %q came back changed", i.SK)
		}
	}
}
