package tabletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
	"github.com/google/go-cmp/cmp"
)

func (suite) strangeKeys(t *testing.T, e *env) {
	keys := []string{
		" ", "%", "%25", "'; DROP TABLE items; --", "*", ".", "..", "/", "A", "\"", "\\", "\n", "\x00", "\x00\x00",
		"_", "a", "a\x00", "a\x00b", "aa", "é", "e\u0301", "ß", "ss", "日本", "😀", "\U0010FFFF", "null", "0", "00", "-1",
	}
	for n, sk := range keys {
		e.mustPut(t, item("p", sk, fmt.Sprint(n)))
		e.mustPut(t, item(sk, "s", fmt.Sprint(n)))
	}
	for n, sk := range keys {
		e.wantItem(t, at(item("p", sk, fmt.Sprint(n)), 1))
		e.wantItem(t, at(item(sk, "s", fmt.Sprint(n)), 1))
	}
	want := append([]string{}, keys...)
	slices.Sort(want)
	got := sortKeys(e.walk(t.Context(), t, berth.Query{PK: "p", Limit: 1}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the order of keys is not that of their bytes, want (-) got (+):\n%s", diff)
	}
	for prefix, want := range map[string]int{"%": 2, "_": 1, "a": 4, "a\x00": 2, "\U0010FFFF": 1, "\x00": 2, "e": 1} {
		if got := e.walk(t.Context(), t, berth.Query{PK: "p", Prefix: prefix, Limit: 3}); len(got) != want {
			t.Errorf("prefix %q gives %q, want %d keys", prefix, sortKeys(got), want)
		}
	}
}

func (suite) caps(t *testing.T, e *env) {
	longPK, longSK := strings.Repeat("p", berth.MaxPartitionKey), strings.Repeat("é", berth.MaxSortKey/2)
	biggest := berth.Item{
		PK: longPK, SK: longSK,
		Index1:    berth.IndexKey{PK: longPK, SK: longSK},
		Projected: strings.Repeat("j", table.MaxProjectedBytes),
		Body:      []byte(strings.Repeat("b", berth.MaxItemBytes)),
	}
	e.mustPut(t, biggest)
	e.wantItem(t, at(biggest, 1))
	q := berth.Query{PK: longPK, Prefix: longSK, Limit: 1}
	if got := e.walk(t.Context(), t, q); len(got) != 1 {
		t.Fatalf("Query by the longest keys = %d items, want 1", len(got))
	}
	q = berth.Query{PK: longPK, After: longSK, Limit: 1}
	if got := e.walk(t.Context(), t, q); len(got) != 0 {
		t.Fatalf("Query after the longest key = %d items, want 0", len(got))
	}
	under := at(biggest, 1)
	under.Body = under.Body[1:]
	e.mustPut(t, under)

	for _, test := range []struct {
		name   string
		change func(*berth.Item)
		want   berth.Code
	}{
		{"partition key", func(i *berth.Item) { i.PK += "p" }, berth.CodeInvalid},
		{"sort key", func(i *berth.Item) { i.SK += "s" }, berth.CodeInvalid},
		{"index partition key", func(i *berth.Item) { i.Index1.PK += "p" }, berth.CodeInvalid},
		{"index sort key", func(i *berth.Item) { i.Index1.SK += "s" }, berth.CodeInvalid},
		{"projected value", func(i *berth.Item) { i.Projected += "j" }, berth.CodeTooLarge},
		{"body", func(i *berth.Item) { i.Body = append([]byte{'b'}, i.Body...) }, berth.CodeTooLarge},
	} {
		over := at(biggest, 2)
		test.change(&over)
		_, err := e.Put(t.Context(), over)
		wantCode(t, "Put with a byte too many in the "+test.name, err, test.want)
	}
	e.wantItem(t, at(under, 2))

	full := make([]berth.Write, berth.MaxTransactionItems)
	for n := range full {
		full[n].Item = item("full", fmt.Sprintf("%03d", n), "x")
	}
	if err := e.Transact(t.Context(), full); err != nil {
		t.Fatalf("Transact of %d items: %v", len(full), err)
	}
	if got := e.walk(t.Context(), t, berth.Query{PK: "full", Limit: berth.MaxQueryLimit}); len(got) != len(full) {
		t.Fatalf("%d items after it, want %d", len(got), len(full))
	}
}

func (suite) badWrites(t *testing.T, e *env) {
	ctx := t.Context()
	many := make([]berth.Write, berth.MaxTransactionItems+1)
	heavy := make([]berth.Write, 60)
	for n := range many {
		many[n].Item = item("bad", fmt.Sprintf("many-%d", n), "")
	}
	for n := range heavy {
		heavy[n].Item = item("bad", fmt.Sprintf("heavy-%d", n), strings.Repeat("x", 80*1024))
	}
	good := berth.Write{Item: item("bad", "good", "")}
	for _, test := range []struct {
		name   string
		writes []berth.Write
		want   berth.Code
	}{
		{"nothing", nil, berth.CodeInvalid},
		{"101 items", many, berth.CodeInvalid},
		{"over 4 MiB in all", heavy, berth.CodeTooLarge},
		{"an item twice", []berth.Write{good, {Item: item("bad", "twice", "")}, {Item: item("bad", "twice", "x")}}, berth.CodeInvalid},
		{"an item put and checked", []berth.Write{good, {Item: item("bad", "twice", "")}, {Item: item("bad", "twice", ""), Check: true}}, berth.CodeInvalid},
		{"an empty partition key", []berth.Write{good, {Item: item("", "s", "")}}, berth.CodeInvalid},
		{"an empty sort key", []berth.Write{good, {Item: item("bad", "", "")}}, berth.CodeInvalid},
		{"an empty key to delete", []berth.Write{good, {Item: item("bad", "", ""), Delete: true}}, berth.CodeInvalid},
		{"half an index key", []berth.Write{good, {Item: berth.Item{PK: "bad", SK: "s", Index1: berth.IndexKey{PK: "i"}}}}, berth.CodeInvalid},
		{"the other half", []berth.Write{good, {Item: berth.Item{PK: "bad", SK: "s", Index2: berth.IndexKey{SK: "i"}}}}, berth.CodeInvalid},
		{"a negative version", []berth.Write{good, {Item: at(item("bad", "s", ""), -1)}}, berth.CodeInvalid},
		{"a delete that is a check", []berth.Write{good, {Item: item("bad", "s", ""), Delete: true, Check: true}}, berth.CodeInvalid},
		{"a key that is not UTF-8", []berth.Write{good, {Item: item("bad", "\xff", "")}}, berth.CodeInvalid},
		{"a body that is not UTF-8", []berth.Write{good, {Item: item("bad", "s", "\xc3")}}, berth.CodeInvalid},
	} {
		wantCode(t, "Transact with "+test.name, e.Transact(ctx, test.writes), test.want)
		if got := e.walk(ctx, t, berth.Query{PK: "bad", Limit: 10}); len(got) != 0 {
			t.Fatalf("Transact with %s left %q", test.name, sortKeys(got))
		}
	}
	_, err := e.Get(ctx, "bad", "")
	wantCode(t, "Get with an empty sort key", err, berth.CodeInvalid)
	_, err = e.Get(ctx, "", "s")
	wantCode(t, "Get with an empty partition key", err, berth.CodeInvalid)
	wantCode(t, "Delete with an empty key", e.Delete(ctx, "", "s", 1), berth.CodeInvalid)
}

func (suite) badQueries(t *testing.T, e *env) {
	ctx := t.Context()
	for n := range 4 {
		for _, pk := range []string{"q", "other"} {
			i := item(pk, fmt.Sprintf("k%d", n), "")
			i.Index1 = berth.IndexKey{PK: pk, SK: i.SK}
			e.mustPut(t, i)
		}
	}
	query := berth.Query{PK: "q", Prefix: "k", Limit: 1}
	page, err := e.Query(ctx, query)
	if err != nil || page.Next == "" {
		t.Fatalf("Query = next %q, %v; want a next page", page.Next, err)
	}
	cursor := page.Next
	with := func(change func(*berth.Query)) berth.Query {
		q := query
		q.Cursor = cursor
		change(&q)
		return q
	}
	forge := func(sk string) string {
		return table.EncodeCursor(query, table.Position{PK: "q", SK: sk})
	}
	for _, test := range []struct {
		name string
		q    berth.Query
		want berth.Code
	}{
		{"no partition key", with(func(q *berth.Query) { q.PK = "" }), berth.CodeInvalid},
		{"limit 0", with(func(q *berth.Query) { q.Limit = 0 }), berth.CodeInvalid},
		{"limit -1", with(func(q *berth.Query) { q.Limit = -1 }), berth.CodeInvalid},
		{"limit 1001", with(func(q *berth.Query) { q.Limit = berth.MaxQueryLimit + 1 }), berth.CodeInvalid},
		{"index 3", with(func(q *berth.Query) { q.Index = 3 }), berth.CodeInvalid},
		{"index -1", with(func(q *berth.Query) { q.Index = -1 }), berth.CodeInvalid},
		{"a long prefix", with(func(q *berth.Query) { q.Prefix = strings.Repeat("k", berth.MaxSortKey+1) }), berth.CodeInvalid},
		{"a cursor of another partition", with(func(q *berth.Query) { q.PK = "other" }), berth.CodeMalformed},
		{"a cursor of another prefix", with(func(q *berth.Query) { q.Prefix = "" }), berth.CodeMalformed},
		{"a cursor of another order", with(func(q *berth.Query) { q.Descending = true }), berth.CodeMalformed},
		{"a cursor of other bounds", with(func(q *berth.Query) { q.After = "k0" }), berth.CodeMalformed},
		{"a cursor of the table on an index", with(func(q *berth.Query) { q.Index = 1 }), berth.CodeMalformed},
		{"a cursor of noise", with(func(q *berth.Query) { q.Cursor = "%%%" }), berth.CodeMalformed},
		{"a cursor of zeros", with(func(q *berth.Query) { q.Cursor = strings.Repeat("A", 64) }), berth.CodeMalformed},
		{"a huge cursor", with(func(q *berth.Query) { q.Cursor = strings.Repeat("A", 100_000) }), berth.CodeMalformed},
		{"a cursor cut short", with(func(q *berth.Query) { q.Cursor = cursor[:len(cursor)-4] }), berth.CodeMalformed},
		{"a cursor made longer", with(func(q *berth.Query) { q.Cursor = cursor + "AAAA" }), berth.CodeMalformed},
		{"a forged cursor outside of the prefix", with(func(q *berth.Query) { q.Cursor = forge("zzz") }), berth.CodeMalformed},
		{"a forged cursor with no key", with(func(q *berth.Query) { q.Cursor = forge("") }), berth.CodeMalformed},
	} {
		_, err := e.Query(ctx, test.q)
		wantCode(t, "Query with "+test.name, err, test.want)
	}
	if _, err := e.Query(ctx, with(func(*berth.Query) {})); err != nil {
		t.Fatalf("Query with its own cursor: %v", err)
	}
}

func (suite) cancelled(t *testing.T, e *env) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := e.Get(ctx, "p", "s")
	wantCode(t, "Get", err, berth.CodeUnavailable)
	_, err = e.Put(ctx, item("p", "s", ""))
	wantCode(t, "Put", err, berth.CodeUnavailable)
	_, err = e.Query(ctx, berth.Query{PK: "p", Limit: 1})
	wantCode(t, "Query", err, berth.CodeUnavailable)
	e.wantAbsent(t, "p", "s")
}
