// Package table holds what every adapter of the berth.Table port shares: the
// checks of arguments, the bounds of a query, the codec of cursors, and the
// form of an expiry. All adapters refuse the same input with the same error.
package table

import (
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// Caps beside those of the port.
const (
	// MaxProjectedBytes is the longest projected value: it is written once more
	// for each index.
	MaxProjectedBytes = 4 * 1024
	// MaxTransactionBytes is what DynamoDB takes in one transaction.
	MaxTransactionBytes = 4 * 1024 * 1024
	// PageBytes ends a page early, as DynamoDB does at 1 MB; the page then has a
	// Next.
	PageBytes = 1024 * 1024
)

// itemOverhead is more than what the attribute names, the numbers and
// DynamoDB's own bookkeeping add to one item.
const itemOverhead = 200

// CheckKey returns invalid unless pk and sk can be the key of an item.
func CheckKey(pk, sk string) error {
	if err := checkPart("partition key", pk, berth.MaxPartitionKey); err != nil {
		return err
	}
	return checkPart("sort key", sk, berth.MaxSortKey)
}

// CheckWrites returns invalid or too_large unless writes can be one transaction.
func CheckWrites(writes []berth.Write) error {
	switch {
	case len(writes) == 0:
		return berth.Errorf(berth.CodeInvalid, "a transaction needs at least one write")
	case len(writes) > berth.MaxTransactionItems:
		return berth.Errorf(berth.CodeInvalid, "a transaction takes at most %d writes, not %d", berth.MaxTransactionItems, len(writes))
	}
	total := 0
	for i := range writes {
		if err := checkWrite(&writes[i]); err != nil {
			return err
		}
		total += sizeOf(&writes[i])
	}
	if total > MaxTransactionBytes {
		return berth.Errorf(berth.CodeTooLarge, "a transaction takes at most %d bytes", MaxTransactionBytes)
	}
	if len(writes) == 1 {
		return nil
	}
	seen := make(map[[2]string]bool, len(writes))
	for i := range writes {
		key := [2]string{writes[i].Item.PK, writes[i].Item.SK}
		if seen[key] {
			return berth.Errorf(berth.CodeInvalid, "a transaction may name an item only once")
		}
		seen[key] = true
	}
	return nil
}

func checkWrite(w *berth.Write) error {
	item := &w.Item
	if err := CheckKey(item.PK, item.SK); err != nil {
		return err
	}
	if item.Version < 0 {
		return berth.Errorf(berth.CodeInvalid, "an item's version may not be negative")
	}
	if w.Delete && w.Check {
		return berth.Errorf(berth.CodeInvalid, "a write is a put, a delete or a check, not two of them")
	}
	if w.Delete || w.Check {
		return nil
	}
	for _, key := range []berth.IndexKey{item.Index1, item.Index2} {
		if key == (berth.IndexKey{}) {
			continue
		}
		if err := CheckKey(key.PK, key.SK); err != nil {
			return berth.Wrap(err, "checking an index key")
		}
	}
	switch {
	case len(item.Projected) > MaxProjectedBytes:
		return berth.Errorf(berth.CodeTooLarge, "the projected value of an item is at most %d bytes", MaxProjectedBytes)
	case len(item.Body) > berth.MaxItemBytes:
		return berth.Errorf(berth.CodeTooLarge, "the body of an item is at most %d bytes", berth.MaxItemBytes)
	case !utf8.ValidString(item.Projected), !utf8.Valid(item.Body):
		return berth.Errorf(berth.CodeInvalid, "an item must be valid UTF-8")
	}
	return nil
}

func sizeOf(w *berth.Write) int {
	item := &w.Item
	size := itemOverhead + len(item.PK) + len(item.SK)
	if w.Delete || w.Check {
		return size
	}
	return size + len(item.Index1.PK) + len(item.Index1.SK) + len(item.Index2.PK) + len(item.Index2.SK) +
		len(item.Projected) + len(item.Body)
}

// CheckQuery returns invalid unless q can be answered. Its cursor is checked by
// DecodeCursor.
func CheckQuery(q berth.Query) error {
	if q.Index < 0 || q.Index > 2 {
		return berth.Errorf(berth.CodeInvalid, "there is no index %d", q.Index)
	}
	if q.Limit < 1 || q.Limit > berth.MaxQueryLimit {
		return berth.Errorf(berth.CodeInvalid, "the limit of a query must be 1 to %d, not %d", berth.MaxQueryLimit, q.Limit)
	}
	if err := checkPart("partition key", q.PK, berth.MaxPartitionKey); err != nil {
		return err
	}
	for _, bound := range []string{q.Prefix, q.After, q.Before} {
		if bound == "" {
			continue
		}
		if err := checkPart("bound of the sort key", bound, berth.MaxSortKey); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(what, s string, maxBytes int) error {
	switch {
	case s == "":
		return berth.Errorf(berth.CodeInvalid, "the %s may not be empty", what)
	case len(s) > maxBytes:
		return berth.Errorf(berth.CodeInvalid, "the %s is at most %d bytes, not %d", what, maxBytes, len(s))
	case !utf8.ValidString(s):
		return berth.Errorf(berth.CodeInvalid, "the %s must be valid UTF-8", what)
	}
	return nil
}
