package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// Put writes item if its version is the one in the table, 0 for none, and
// returns the new version. Errors: those of berth.Table.
func (t *Table) Put(ctx context.Context, item berth.Item) (int64, error) {
	if err := t.write(ctx, "writing an item", []berth.Write{{Item: item}}); err != nil {
		return 0, err
	}
	return item.Version + 1, nil
}

// Delete removes an item if its version is the one in the table. Errors: those
// of berth.Table.
func (t *Table) Delete(ctx context.Context, pk, sk string, version int64) error {
	item := berth.Item{PK: pk, SK: sk, Version: version}
	return t.write(ctx, "removing an item", []berth.Write{{Item: item, Delete: true}})
}

// Transact makes all writes or none. Errors: those of berth.Table.
func (t *Table) Transact(ctx context.Context, writes []berth.Write) error {
	return t.write(ctx, "writing items", writes)
}

func (t *Table) write(ctx context.Context, doing string, writes []berth.Write) error {
	if err := table.CheckWrites(writes); err != nil {
		return berth.Wrap(err, doing)
	}
	return t.withWriter(ctx, doing, func(ctx context.Context) error {
		if len(writes) == 1 && !writes[0].Delete {
			// One statement is a transaction of its own.
			return t.apply(ctx, writes[0])
		}
		return t.inTransaction(ctx, func() error {
			for _, w := range writes {
				if err := t.apply(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// withWriter runs f with the one writing connection. Once begun it is not
// cancelled: a write takes microseconds, and half-known outcomes help nobody.
func (t *Table) withWriter(ctx context.Context, doing string, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return t.explain(doing, err)
	}
	select {
	case <-t.turn:
	case <-ctx.Done():
		return t.explain(doing, ctx.Err())
	}
	defer func() { t.turn <- struct{}{} }()
	return t.explain(doing, f(context.WithoutCancel(ctx)))
}

func (t *Table) inTransaction(ctx context.Context, f func() error) error {
	if _, err := t.statements.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = t.statements.commit.ExecContext(ctx)
	}
	if err != nil {
		// SQLite may have rolled back already (a full disk does); then this says
		// that there is no transaction, which is what is wanted.
		_, _ = t.statements.rollback.ExecContext(ctx)
	}
	return err
}

func (t *Table) apply(ctx context.Context, w berth.Write) error {
	now := t.clock.Now().Unix()
	item, s := &w.Item, &t.statements
	switch {
	case item.Version == 0 && (w.Check || w.Delete):
		return t.expectAbsent(ctx, w, now)
	case w.Check:
		var one int
		err := s.check.QueryRowContext(ctx, item.PK, item.SK, item.Version, now).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return table.Stale(w)
		}
		return err
	case w.Delete:
		return expectOne(w)(s.remove.ExecContext(ctx, item.PK, item.SK, item.Version, now))
	}
	body := item.Body
	if body == nil {
		body = []byte{}
	}
	columns := []any{
		table.ExpirySeconds(item.Expires), nullable(item.Index1.PK), nullable(item.Index1.SK),
		nullable(item.Index2.PK), nullable(item.Index2.SK), item.Projected, body,
		item.PK, item.SK,
	}
	if item.Version == 0 {
		return expectOne(w)(s.create.ExecContext(ctx, append(columns, now)...))
	}
	return expectOne(w)(s.replace.ExecContext(ctx, append(columns, item.Version, now)...))
}

// expectAbsent checks that there is no live item; for a delete it also removes
// an expired one.
func (t *Table) expectAbsent(ctx context.Context, w berth.Write, now int64) error {
	var one int
	err := t.statements.exists.QueryRowContext(ctx, w.Item.PK, w.Item.SK, now).Scan(&one)
	switch {
	case err == nil:
		return table.Stale(w)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	case w.Delete:
		_, err := t.statements.removeExpired.ExecContext(ctx, w.Item.PK, w.Item.SK, now)
		return err
	}
	return nil
}

func expectOne(w berth.Write) func(sql.Result, error) error {
	return func(result sql.Result, err error) error {
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("counting changes: %w", err)
		}
		if n == 0 {
			return table.Stale(w)
		}
		return nil
	}
}
