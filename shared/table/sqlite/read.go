package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

const getSQL = `SELECT version, expires, index1_pk, index1_sk, index2_pk, index2_sk, projected, body
FROM items WHERE pk = ? AND sk = ? AND (expires = 0 OR expires > ?)`

// Get reads one item. Errors: not_found, invalid, unavailable.
func (t *Table) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	const doing = "reading an item"
	if err := table.CheckKey(pk, sk); err != nil {
		return berth.Item{}, berth.Wrap(err, doing)
	}
	if err := ctx.Err(); err != nil {
		return berth.Item{}, t.explain(doing, err)
	}
	var v values
	// Without cancelling: a read of one row ends in microseconds, and a context
	// that can be cancelled costs the driver a goroutine for each statement.
	err := t.get.QueryRowContext(context.WithoutCancel(ctx), pk, sk, t.clock.Now().Unix()).Scan(
		&v.version, &v.expires, &v.index1PK, &v.index1SK, &v.index2PK, &v.index2SK, &v.projected, &v.body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return berth.Item{}, berth.Wrap(table.NotFound(pk, sk), doing)
	case err != nil:
		return berth.Item{}, t.explain(doing, err)
	}
	return v.item(pk, sk), nil
}
