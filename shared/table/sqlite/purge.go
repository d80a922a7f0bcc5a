package sqlite

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// purgeBatch keeps other writers waiting for a few milliseconds only.
const purgeBatch = 500

// Purge removes the expired items, which no read shows, from the file and
// returns their number. Errors: unavailable.
func (t *Table) Purge(ctx context.Context) (int, error) {
	const doing = "purging expired items"
	now := t.clock.Now().Unix()
	total := 0
	for {
		var n int64
		err := t.withWriter(ctx, doing, func(ctx context.Context) error {
			result, err := t.statements.purge.ExecContext(ctx, now, purgeBatch)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return berth.Wrap(err, "counting changes")
		})
		total += int(n)
		if err != nil || n < purgeBatch {
			return total, err
		}
	}
}
