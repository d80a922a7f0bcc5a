package tabletest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func (suite) roundTrip(t *testing.T, e *env) {
	full := berth.Item{
		PK: "env", SK: "default",
		Expires:   e.clock.Now().Add(time.Hour),
		Index1:    berth.IndexKey{PK: "one", SK: "1"},
		Index2:    berth.IndexKey{PK: "two", SK: "2"},
		Projected: "ready",
		Body:      []byte(`{"text":"é \" \\ \u0000 end"}`),
	}
	bare := berth.Item{PK: "env", SK: "bare"}
	for _, i := range []berth.Item{full, bare} {
		if got := e.mustPut(t, i); got != 1 {
			t.Fatalf("Put(%q) = version %d, want 1", i.SK, got)
		}
		e.wantItem(t, at(i, 1))
	}
	// A replacement replaces all, and takes what it does not name away.
	if got := e.mustPut(t, at(berth.Item{PK: "env", SK: "default"}, 1)); got != 2 {
		t.Fatalf("second Put = version %d, want 2", got)
	}
	e.wantItem(t, at(berth.Item{PK: "env", SK: "default"}, 2))
}

func (suite) conditionalPut(t *testing.T, e *env) {
	_, err := e.Put(t.Context(), at(item("p", "s", "early"), 1))
	wantCode(t, "Put of version 1 on nothing", err, berth.CodeStale)
	e.wantAbsent(t, "p", "s")

	e.mustPut(t, item("p", "s", "first"))
	_, err = e.Put(t.Context(), item("p", "s", "again"))
	wantCode(t, "Put of version 0 on an item", err, berth.CodeStale)
	e.mustPut(t, at(item("p", "s", "second"), 1))
	for _, version := range []int64{1, 3} {
		_, err = e.Put(t.Context(), at(item("p", "s", "late"), version))
		wantCode(t, fmt.Sprintf("Put of version %d on version 2", version), err, berth.CodeStale)
	}
	e.wantItem(t, at(item("p", "s", "second"), 2))
}

func (suite) conditionalDelete(t *testing.T, e *env) {
	ctx := t.Context()
	wantCode(t, "Delete of version 1 of nothing", e.Delete(ctx, "p", "s", 1), berth.CodeStale)
	if err := e.Delete(ctx, "p", "s", 0); err != nil {
		t.Fatalf("Delete of version 0 of nothing: %v", err)
	}
	e.mustPut(t, item("p", "s", "x"))
	for _, version := range []int64{0, 2} {
		wantCode(t, fmt.Sprintf("Delete of version %d of version 1", version), e.Delete(ctx, "p", "s", version), berth.CodeStale)
	}
	e.wantItem(t, at(item("p", "s", "x"), 1))
	if err := e.Delete(ctx, "p", "s", 1); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	e.wantAbsent(t, "p", "s")
	if got := e.mustPut(t, item("p", "s", "y")); got != 1 {
		t.Fatalf("Put after Delete = version %d, want 1", got)
	}
}

func (suite) absent(t *testing.T, e *env) {
	e.wantAbsent(t, "nobody", "here")
	page, err := e.Query(t.Context(), berth.Query{PK: "nobody", Limit: 10})
	if err != nil || len(page.Items) != 0 || page.Next != "" {
		t.Fatalf("Query of an empty partition = %d items, next %q, %v; want an empty last page", len(page.Items), page.Next, err)
	}
}

func (suite) allOrNothing(t *testing.T, e *env) {
	ctx := t.Context()
	e.mustPut(t, item("t", "replaced", "old"))
	e.mustPut(t, item("t", "removed", "old"))
	writes := []berth.Write{
		{Item: item("t", "created", "new")},
		{Item: at(item("t", "replaced", "new"), 1)},
		{Item: at(item("t", "removed", ""), 1), Delete: true},
		{Item: at(item("t", "other", "new"), 7)}, // does not hold
	}
	wantCode(t, "Transact with one bad condition", e.Transact(ctx, writes), berth.CodeStale)
	e.wantAbsent(t, "t", "created")
	e.wantItem(t, at(item("t", "replaced", "old"), 1))
	e.wantItem(t, at(item("t", "removed", "old"), 1))

	if err := e.Transact(ctx, writes[:3]); err != nil {
		t.Fatalf("Transact: %v", err)
	}
	e.wantItem(t, at(item("t", "created", "new"), 1))
	e.wantItem(t, at(item("t", "replaced", "new"), 2))
	e.wantAbsent(t, "t", "removed")
}

func (suite) checks(t *testing.T, e *env) {
	ctx := t.Context()
	e.mustPut(t, item("c", "guard", "g"))
	for _, test := range []struct {
		name  string
		check berth.Item
		holds bool
	}{
		{"present at its version", at(item("c", "guard", ""), 1), true},
		{"present at another version", at(item("c", "guard", ""), 2), false},
		{"present, wanted absent", item("c", "guard", ""), false},
		{"absent, wanted absent", item("c", "nothing", ""), true},
		{"absent, wanted present", at(item("c", "nothing", ""), 1), false},
	} {
		err := e.Transact(ctx, []berth.Write{{Item: test.check, Check: true}, {Item: item("c", test.name, "w")}})
		if !test.holds {
			wantCode(t, "Transact with a check of an item "+test.name, err, berth.CodeStale)
			e.wantAbsent(t, "c", test.name)
			continue
		}
		if err != nil {
			t.Fatalf("Transact with a check of an item %s: %v", test.name, err)
		}
		e.wantItem(t, at(item("c", test.name, "w"), 1))
	}
	if err := e.Transact(ctx, []berth.Write{{Item: at(item("c", "guard", ""), 1), Check: true}}); err != nil {
		t.Fatalf("Transact of a check alone: %v", err)
	}
	e.wantItem(t, at(item("c", "guard", "g"), 1))
	e.wantAbsent(t, "c", "nothing")
}

func (s suite) oneWinner(t *testing.T, e *env) {
	race := func(what string, write func(writer int) error) {
		errs := make([]error, s.features.WritersAtOnce)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = write(i) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			wantCode(t, what, err, berth.CodeStale)
		}
		if won != 1 {
			t.Fatalf("%s: %d of %d writers won, want 1", what, won, len(errs))
		}
	}
	race("creating one item", func(w int) error {
		_, err := e.Put(t.Context(), item("race", "x", fmt.Sprint(w)))
		return err
	})
	race("replacing one item", func(w int) error {
		_, err := e.Put(t.Context(), at(item("race", "x", fmt.Sprint(w)), 1))
		return err
	})
	race("changing one item in transactions", func(w int) error {
		return e.Transact(t.Context(), []berth.Write{
			{Item: at(item("race", "x", fmt.Sprint(w)), 2)},
			{Item: item("race", fmt.Sprintf("mark-%d", w), "")},
		})
	})
	race("removing one item", func(int) error { return e.Delete(t.Context(), "race", "x", 3) })
	page, err := e.Query(t.Context(), berth.Query{PK: "race", Prefix: "mark-", Limit: 100})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("the losers' transactions left %d items (%v), want the winner's 1", len(page.Items), err)
	}
}

// counters has writers that re-read after they lose, as an append to a run's
// events does.
func (suite) counters(t *testing.T, e *env) {
	const writers, each = 4, 5
	e.mustPut(t, item("count", "head", ""))
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for range each {
				if errs[w] = e.appendEvent(t); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	e.wantItem(t, at(item("count", "head", ""), 1+writers*each))
	page, err := e.Query(t.Context(), berth.Query{PK: "count", Prefix: "event#", Limit: 100})
	if err != nil || len(page.Items) != writers*each {
		t.Fatalf("%d events (%v), want %d", len(page.Items), err, writers*each)
	}
}

func (e *env) appendEvent(t *testing.T) error {
	for range 500 {
		head, err := e.Get(t.Context(), "count", "head")
		if err != nil {
			return err
		}
		err = e.Transact(t.Context(), []berth.Write{
			{Item: head},
			{Item: item("count", fmt.Sprintf("event#%06d", head.Version), "")},
		})
		if berth.CodeOf(err) != berth.CodeStale {
			return err
		}
	}
	return fmt.Errorf("lost 500 races in a row")
}
