package tabletest

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const hour = time.Hour

func (suite) expiry(t *testing.T, e *env) {
	ctx := t.Context()
	// Hours, not seconds: settle lets the clock run.
	lasting := func(sk string) berth.Item {
		i := item("x", sk, "old")
		i.Index1 = berth.IndexKey{PK: "xi", SK: sk}
		i.Expires = e.clock.Now().Add(10 * hour)
		return i
	}
	names := []string{"checked", "created", "deleted", "read", "replaced", "swept", "wanted"}
	for _, sk := range names {
		e.mustPut(t, lasting(sk))
	}
	stays := item("x", "stays", "for ever")
	stays.Index1 = berth.IndexKey{PK: "xi", SK: "stays"}
	e.mustPut(t, stays)
	e.settle(t, "the items", func() bool {
		return len(e.walk(ctx, t, berth.Query{Index: 1, PK: "xi", Limit: 3})) == len(names)+1
	})
	if got := len(e.walk(ctx, t, berth.Query{PK: "x", Limit: 3})); got != len(names)+1 {
		t.Fatalf("%d items before they expire, want %d", got, len(names)+1)
	}

	// Until then it is an item like any other.
	early, err := e.Put(ctx, item("x", "replaced", "too early"))
	wantCode(t, fmt.Sprintf("Put of version 0 before the expiry = %d", early), err, berth.CodeStale)
	wantCode(t, "Delete of version 0 before the expiry", e.Delete(ctx, "x", "deleted", 0), berth.CodeStale)
	err = e.Transact(ctx, []berth.Write{{Item: item("x", "checked", ""), Check: true}, {Item: item("x", "new", "")}})
	wantCode(t, "Transact with a check of version 0 before the expiry", err, berth.CodeStale)
	err = e.Transact(ctx, []berth.Write{
		{Item: at(lasting("checked"), 1), Check: true},
		{Item: at(lasting("replaced"), 1)},
		{Item: at(lasting("deleted"), 1), Delete: true},
	})
	if err != nil {
		t.Fatalf("Transact before the expiry: %v", err)
	}
	e.mustPut(t, lasting("deleted"))

	e.clock.Advance(11 * hour)
	e.wantAbsent(t, "x", "read")
	for _, q := range []berth.Query{{PK: "x", Limit: 1}, {PK: "x", Limit: 1, Descending: true}, {PK: "x", Limit: 100}, {Index: 1, PK: "xi", Limit: 2}} {
		if got := e.walk(ctx, t, q); len(got) != 1 || got[0].SK != "stays" {
			t.Fatalf("Query(%+v) after the expiry = %v, want what stays", q, sortKeys(got))
		}
	}
	_, err = e.Put(ctx, at(item("x", "replaced", "new"), 2))
	wantCode(t, "Put on an expired version", err, berth.CodeStale)
	wantCode(t, "Delete of an expired version", e.Delete(ctx, "x", "deleted", 1), berth.CodeStale)
	err = e.Transact(ctx, []berth.Write{{Item: at(item("x", "checked", ""), 1), Check: true}, {Item: item("x", "new", "")}})
	wantCode(t, "Transact with a check of an expired version", err, berth.CodeStale)

	if got := e.mustPut(t, item("x", "created", "new")); got != 1 {
		t.Fatalf("Put over an expired item = version %d, want 1", got)
	}
	e.wantItem(t, at(item("x", "created", "new"), 1))
	err = e.Transact(ctx, []berth.Write{
		{Item: item("x", "wanted", ""), Check: true},
		{Item: item("x", "swept", ""), Delete: true},
		{Item: item("x", "new", "")},
	})
	if err != nil {
		t.Fatalf("Transact with an expired item wanted absent: %v", err)
	}
	// An item put over an expired one is in no index of the old one.
	e.wantIndex(t, berth.Query{Index: 1, PK: "xi", Limit: 5}, []berth.Item{{PK: "x", SK: "stays", Index1: stays.Index1}})
}

func (suite) expirySeconds(t *testing.T, e *env) {
	i := item("x", "s", "")
	base := e.clock.Now()
	i.Expires = base.Add(hour + 300*time.Millisecond)
	e.mustPut(t, i)
	i.Expires = base.Add(hour + time.Second)
	e.wantItem(t, at(i, 1))
	e.clock.Set(base.Add(hour + 900*time.Millisecond))
	e.wantItem(t, at(i, 1))
	e.clock.Set(base.Add(hour + time.Second))
	e.wantAbsent(t, "x", "s")

	// Long past is not "never".
	for _, past := range []time.Time{time.Unix(0, 0), time.Unix(-5, 0)} {
		old := item("x", "old", "")
		old.Expires = past
		e.mustPut(t, old)
		e.wantAbsent(t, "x", "old")
	}
}
