package berth

import (
	"context"
	"time"
)

// The caps that every table adapter enforces: those of DynamoDB, or ours where
// ours are lower.
const (
	MaxItemBytes        = 100 * 1024 // body of one item
	MaxPartitionKey     = 2048       // bytes
	MaxSortKey          = 1024       // bytes
	MaxTransactionItems = 100
	MaxQueryLimit       = 1000
)

// Item is one row of the table. The body is JSON, unknown to the adapter.
type Item struct {
	PK, SK string
	// Version is 0 for an item that does not exist yet; the table counts it up
	// with each write.
	Version int64
	// Expires hides the item from every read from then on; zero is never.
	Expires time.Time
	// Index1 and Index2 place the item in the two sparse indexes.
	Index1, Index2 IndexKey
	// Projected is the one small value that the indexes carry beside the keys.
	Projected string
	Body      []byte
}

// IndexKey is an item's place in an index; the zero value is "not in it".
type IndexKey struct{ PK, SK string }

// Write is one conditional change. The condition is always Item.Version: 0
// means that the item must be absent, n that its version must be n.
type Write struct {
	Item   Item
	Delete bool // remove instead of put
	Check  bool // only check the condition
}

// Query asks for the items of one partition in the order of their sort keys.
type Query struct {
	// Index is 0 for the table, 1 or 2 for an index. Indexes are eventual: no
	// decision may read one. Items that come from an index have keys, Version 0
	// and Projected, and no Body.
	Index      int
	PK         string
	Prefix     string // of the sort key
	After      string // exclusive lower bound of the sort key; empty is none
	Before     string // exclusive upper bound of the sort key; empty is none
	Descending bool
	Limit      int    // 1 to MaxQueryLimit
	Cursor     string // from the page before; bound to the same query
}

// Page is a part of a query's answer. Next is empty on the last one; a page may
// be shorter than asked, even empty, and still have a Next.
type Page struct {
	Items []Item
	Next  string
}

// Table is the port to the one table. Reads of the table itself are strongly
// consistent; expired items are never returned and count as absent in
// conditions.
//
// Errors: not_found from Get; stale when a condition does not hold (of any
// write, for Transact, which then changes nothing); invalid for empty or long
// keys, over 100 or repeated items, a bad cursor (malformed); too_large for a
// body over MaxItemBytes; unavailable.
type Table interface {
	Get(ctx context.Context, pk, sk string) (Item, error)
	// Put and Delete are Transact of one write. Put returns the new version.
	Put(ctx context.Context, item Item) (int64, error)
	Delete(ctx context.Context, pk, sk string, version int64) error
	Transact(ctx context.Context, writes []Write) error
	Query(ctx context.Context, q Query) (Page, error)
}
