package ids_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
)

// still is a clock that stands.
type still time.Time

func (s still) Now() time.Time                             { return time.Time(s) }
func (s still) Sleep(context.Context, time.Duration) error { return nil }

func TestIDsOfOneMillisecondAreULIDsThatSortAsTheyWereMade(t *testing.T) {
	t.Parallel()
	source := ids.New(still(time.Date(2030, time.May, 5, 12, 0, 0, 0, time.UTC)))
	last := ""
	for range 1000 {
		id := source.NewID()
		if !berth.IsULID(id) || id <= last {
			t.Fatalf("NewID = %q after %q, want a later lower-case ULID", id, last)
		}
		last = id
	}
}

func TestIDsMadeAtOnceDiffer(t *testing.T) {
	t.Parallel()
	const makers, each = 8, 200
	source := ids.New(berth.SystemClock{})
	var made [makers][each]string
	var wg sync.WaitGroup
	for m := range made {
		wg.Go(func() {
			for i := range made[m] {
				made[m][i] = source.NewID()
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, list := range made {
		for _, id := range list {
			if seen[id] {
				t.Fatalf("NewID gave %q twice", id)
			}
			seen[id] = true
		}
	}
}
