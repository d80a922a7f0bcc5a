package tabletest

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Open makes a table for one test, empty as far as the test can see; clean-up
// is registered with t.
type Open func(t *testing.T, clock berth.Clock) berth.Table

// Features are the ways in which an emulator may fall short of the real
// service. The zero value is everything; each switch is printed.
type Features struct {
	// WritersAtOnce is how many writers race for one item; 0 is 50.
	WritersAtOnce int
	// PropertyRuns is how many random tables are paged through at most; 0 is as
	// many as rapid makes.
	PropertyRuns int
}

// Run checks every promise of berth.Table.
func Run(t *testing.T, open Open) { RunWith(t, Features{}, open) }

// RunWith is Run against an implementation with reduced features.
func RunWith(t *testing.T, f Features, open Open) {
	if f.WritersAtOnce == 0 {
		f.WritersAtOnce = 50
	} else {
		t.Logf("reduced: %d writers at once", f.WritersAtOnce)
	}
	if f.PropertyRuns > 0 {
		t.Logf("reduced: %d random tables", f.PropertyRuns)
	}
	s := suite{open: open, features: f}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *env)
	}{
		{"an item comes back as it was put", s.roundTrip},
		{"a put is conditional on the version", s.conditionalPut},
		{"a delete is conditional on the version", s.conditionalDelete},
		{"an absent item is not found", s.absent},
		{"a transaction is all or nothing", s.allOrNothing},
		{"a check holds a transaction back and changes nothing", s.checks},
		{"of many writers at once exactly one wins", s.oneWinner},
		{"transactions at once count every one", s.counters},
		{"a query is bounded by prefix, after and before", s.bounds},
		{"pages of one item make up the whole", s.pageWalk},
		{"pages of random queries make up the whole", s.pagesEqualWhole},
		{"a page of large items ends early and goes on", s.largePages},
		{"an index gives keys and the projected value only", s.index},
		{"an index is sparse and follows changes", s.sparseIndex},
		{"an index pages through equal sort keys", s.indexTies},
		{"an expired item is gone from every read and condition", s.expiry},
		{"an expiry is kept in whole seconds, rounded up", s.expirySeconds},
		{"strange keys stay apart", s.strangeKeys},
		{"the caps hold to the byte", s.caps},
		{"bad writes are refused and change nothing", s.badWrites},
		{"bad queries and cursors are refused", s.badQueries},
		{"a cancelled caller is told so", s.cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := NewClock()
			test.run(t, &env{Table: open(t, clock), clock: clock})
		})
	}
}

type suite struct {
	open     Open
	features Features
}

// env is the table under one test.
type env struct {
	berth.Table
	clock *Clock
}

// settle calls try until it reports true: an index is eventual. The clock goes
// on meanwhile, for tables that are late by the clock.
func (e *env) settle(t *testing.T, what string, try func() bool) {
	t.Helper()
	for range 300 {
		if try() {
			return
		}
		e.clock.Advance(time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the index never showed %s", what)
}
