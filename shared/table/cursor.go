package table

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/berth-dev/berth/shared/berth"
)

// Position is where a page ended: the keys of its last item. IndexSK is the
// item's sort key in the index, empty for a query of the table itself.
type Position struct{ PK, SK, IndexSK string }

const (
	cursorVersion   = 1
	cursorHashBytes = 12
	// maxCursorBytes bounds what is decoded: three keys of the longest kind.
	maxCursorBytes = 8 * 1024
)

// EncodeCursor makes the Next of a page of q that ended at p.
func EncodeCursor(q berth.Query, p Position) string {
	b := []byte{cursorVersion}
	b = append(b, hashOf(q)...)
	for _, s := range []string{p.IndexSK, p.SK, p.PK} {
		b = appendString(b, s)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor returns the position in q.Cursor, and false when q has none. It
// returns malformed when the cursor is none of ours, belongs to another query,
// or lies outside of this one's range. The limit may differ from page to page.
func DecodeCursor(q berth.Query) (Position, bool, error) {
	if q.Cursor == "" {
		return Position{}, false, nil
	}
	bad := berth.FieldErrorf(berth.CodeMalformed, "cursor", "this cursor does not belong to this list")
	bad.Remediation = "Use the cursor of the page before, with the same filters, or start without one."
	if len(q.Cursor) > maxCursorBytes {
		return Position{}, false, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil || len(b) < 1+cursorHashBytes || b[0] != cursorVersion ||
		string(b[1:1+cursorHashBytes]) != string(hashOf(q)) {
		return Position{}, false, bad
	}
	b = b[1+cursorHashBytes:]
	var p Position
	for _, s := range []*string{&p.IndexSK, &p.SK, &p.PK} {
		var ok bool
		if *s, b, ok = cutString(b); !ok {
			return Position{}, false, bad
		}
	}
	if len(b) != 0 || CheckKey(p.PK, p.SK) != nil || !positionIn(q, p) {
		return Position{}, false, bad
	}
	return p, true, nil
}

func positionIn(q berth.Query, p Position) bool {
	if q.Index == 0 {
		return p.PK == q.PK && p.IndexSK == "" && BoundsOf(q).Contain(p.SK)
	}
	return checkPart("sort key", p.IndexSK, berth.MaxSortKey) == nil && BoundsOf(q).Contain(p.IndexSK)
}

// hashOf tells queries apart by all that decides which items they give and in
// which order.
func hashOf(q berth.Query) []byte {
	b := []byte{byte(q.Index), 0}
	if q.Descending {
		b[1] = 1
	}
	for _, s := range []string{q.PK, q.Prefix, q.After, q.Before} {
		b = appendString(b, s)
	}
	sum := sha256.Sum256(b)
	return sum[:cursorHashBytes]
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func cutString(b []byte) (string, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil, false
	}
	b = b[size:]
	return string(b[:n]), b[n:], true
}
