package records

import (
	"context"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// liveVersion is the version of every live mark: it is created and deleted,
// never replaced.
const liveVersion = 1

// liveItem marks a run that has not ended. The mark comes and goes in the
// transactions that create and end the run, so that finding the live runs reads
// neither an eventual index nor all runs there ever were.
func liveItem(id berth.RunID, version int64) berth.Item {
	return berth.Item{PK: pkLive, SK: string(id), Version: version, Body: markBody()}
}

// markBody is that of items whose being there is all they say.
func markBody() []byte { return fmt.Appendf(nil, `{"schema":%d,"value":true}`, Schema) }

// ListLiveRuns returns the ids of all runs that have not ended, oldest first.
func (s *Store) ListLiveRuns(ctx context.Context) ([]berth.RunID, error) {
	ids := []berth.RunID{}
	err := s.walk(ctx, berth.Query{PK: pkLive}, func(item berth.Item) (bool, error) {
		ids = append(ids, berth.RunID(item.SK))
		return true, nil
	})
	return ids, err
}

// HasLiveRuns reports whether any run has not ended.
func (s *Store) HasLiveRuns(ctx context.Context) (bool, error) {
	found := false
	err := s.walk(ctx, berth.Query{PK: pkLive, Limit: 1}, func(berth.Item) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}
