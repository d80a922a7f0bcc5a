package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

const (
	indexCount     = 3 // the table itself, and its two indexes
	directionCount = 2
	ascending      = 0
	descending     = 1

	// greatest sorts after every valid UTF-8 string.
	greatest = "\xff"
)

// querySQL is the statement for one index and direction. Its range is the keys
// from low, inclusive, to high, exclusive; a key of an index is completed by
// that of the item, since index keys may repeat.
func querySQL(index int, desc bool) string {
	columns, partition := "pk, sk, sk, projected, version, expires, index1_pk, index1_sk, index2_pk, index2_sk, body", "pk"
	key := []string{"sk"}
	if index > 0 {
		sort := fmt.Sprintf("index%d_sk", index)
		columns, partition = "pk, sk, "+sort+", projected", fmt.Sprintf("index%d_pk", index)
		key = []string{sort, "pk", "sk"}
	}
	direction := ""
	if desc {
		direction = " DESC"
	}
	row := "(" + strings.Join(key, ", ") + ")"
	marks := "(?" + strings.Repeat(", ?", len(key)-1) + ")"
	return "SELECT " + columns + " FROM items WHERE " + partition + " = ?" +
		" AND " + row + " >= " + marks + " AND " + row + " < " + marks +
		" AND (expires = 0 OR expires > ?)" +
		" ORDER BY " + strings.Join(key, direction+", ") + direction + " LIMIT ?"
}

// Query answers one page. A page ends early when it holds table.PageBytes.
// Errors: invalid, malformed for the cursor, unavailable.
func (t *Table) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	const doing = "querying the table"
	if err := table.CheckQuery(q); err != nil {
		return berth.Page{}, berth.Wrap(err, doing)
	}
	from, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return berth.Page{}, berth.Wrap(err, doing)
	}
	if err := ctx.Err(); err != nil {
		return berth.Page{}, t.explain(doing, err)
	}
	direction := ascending
	if q.Descending {
		direction = descending
	}
	args := append([]any{q.PK}, rangeOf(q, from, resumed)...)
	// One more than asked tells whether there is a next page.
	args = append(args, t.clock.Now().Unix(), q.Limit+1)
	// Without cancelling, as in Get: a page is bounded in items and bytes.
	rows, err := t.queries[q.Index][direction].QueryContext(context.WithoutCancel(ctx), args...)
	if err != nil {
		return berth.Page{}, t.explain(doing, err)
	}
	page, err := scanPage(q, rows)
	if err = errors.Join(err, rows.Close()); err != nil {
		return berth.Page{}, t.explain(doing, err)
	}
	return page, nil
}

// rangeOf gives the low and the high key of q, moved up or down to where the
// page before ended.
func rangeOf(q berth.Query, from table.Position, resumed bool) []any {
	bounds := table.BoundsOf(q)
	low, high := []any{bounds.Low}, []any{bounds.High}
	if bounds.LowOpen {
		low[0] = next(bounds.Low)
	}
	if bounds.High == "" {
		high[0] = greatest
	}
	if q.Index > 0 {
		low, high = append(low, "", ""), append(high, "", "")
	}
	switch {
	case resumed && q.Descending:
		high = keyOf(q, from)
	case resumed:
		low = keyOf(q, from)
		low[len(low)-1] = next(from.SK)
	}
	return append(low, high...)
}

func keyOf(q berth.Query, p table.Position) []any {
	if q.Index == 0 {
		return []any{p.SK}
	}
	return []any{p.IndexSK, p.PK, p.SK}
}

// next is the string right after s in byte order.
func next(s string) string { return s + "\x00" }

func scanPage(q berth.Query, rows *sql.Rows) (berth.Page, error) {
	var page berth.Page
	var last table.Position
	size := 0
	for rows.Next() {
		if len(page.Items) == q.Limit || size >= table.PageBytes {
			page.Next = table.EncodeCursor(q, last)
			break
		}
		item, indexSK, err := scanRow(q, rows)
		if err != nil {
			return berth.Page{}, fmt.Errorf("reading a row: %w", err)
		}
		page.Items = append(page.Items, item)
		last = table.Position{PK: item.PK, SK: item.SK}
		if q.Index > 0 {
			last.IndexSK = indexSK
		}
		size += len(item.PK) + len(item.SK) + len(item.Projected) + len(item.Body)
	}
	return page, rows.Err()
}
