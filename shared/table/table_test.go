package table_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPrefixEndIsTheLeastStringBehindThePrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"":                     "",
		"a":                    "b",
		"run#":                 "run$",
		"a\x7f":                "a\u0080",
		"\ud7ff":               "\ue000",
		"a\U0010FFFF":          "b",
		"\U0010FFFF\U0010FFFF": "",
	} {
		if got := table.PrefixEnd(prefix); got != want {
			t.Errorf("PrefixEnd(%q) = %q, want %q", prefix, got, want)
		}
	}
}

func TestBoundsContainWhatTheQueryAsksFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[ab\x7f\u0080\ud7ff\U0010FFFF]{0,3}")
		q := berth.Query{Prefix: word.Draw(t, "prefix"), After: word.Draw(t, "after"), Before: word.Draw(t, "before")}
		key := q.Prefix + word.Draw(t, "rest")
		if rapid.Bool().Draw(t, "elsewhere") {
			key = word.Draw(t, "key")
		}
		want := strings.HasPrefix(key, q.Prefix) && (q.After == "" || key > q.After) && (q.Before == "" || key < q.Before)
		bounds := table.BoundsOf(q)
		if got := bounds.Contain(key); got != want {
			t.Fatalf("%+v contains %q = %v, want %v", q, key, got, want)
		}
		if want && bounds.Empty() {
			t.Fatalf("%+v is empty but contains %q", q, key)
		}
		if !utf8.ValidString(bounds.High) {
			t.Fatalf("the end %q is not valid UTF-8", bounds.High)
		}
	})
}

func TestACursorComesBackAsItWasMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringN(1, 20, -1)
		q := berth.Query{
			Index:      rapid.IntRange(0, 2).Draw(t, "index"),
			PK:         key.Draw(t, "pk"),
			Descending: rapid.Bool().Draw(t, "descending"),
			Limit:      1,
		}
		want := table.Position{PK: q.PK, SK: key.Draw(t, "sk")}
		if q.Index > 0 {
			want.PK, want.IndexSK = key.Draw(t, "item"), key.Draw(t, "index sk")
		}
		q.Cursor = table.EncodeCursor(q, want)
		q.Limit = 7
		got, ok, err := table.DecodeCursor(q)
		if err != nil || !ok {
			t.Fatalf("DecodeCursor = %v, %v", ok, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("position, want (-) got (+):\n%s", diff)
		}
	})
}

func FuzzDecodeCursor(f *testing.F) {
	q := berth.Query{PK: "p", Prefix: "s", Limit: 1}
	f.Add(table.EncodeCursor(q, table.Position{PK: "p", SK: "s1"}))
	f.Add("")
	f.Add("AQ")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, cursor string) {
		q := q
		q.Cursor = cursor
		got, ok, err := table.DecodeCursor(q)
		switch {
		case err != nil && berth.CodeOf(err) != berth.CodeMalformed:
			t.Fatalf("DecodeCursor(%q) = %v, want malformed", cursor, err)
		case err != nil && cursor != "" && strings.Contains(err.Error(), cursor):
			t.Fatalf("the error repeats the cursor: %v", err)
		case ok && (got.PK != q.PK || !strings.HasPrefix(got.SK, q.Prefix)):
			t.Fatalf("DecodeCursor(%q) leads out of the query: %+v", cursor, got)
		case ok && table.EncodeCursor(q, got) != cursor:
			t.Fatalf("two cursors for one place: %q", cursor)
		}
	})
}

func TestExpirySecondsRoundUpAndNeverMeanNever(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		at   time.Time
		want int64
	}{
		{"never", time.Time{}, 0},
		{"a whole second", time.Unix(100, 0), 100},
		{"a part of a second", time.Unix(100, 1), 101},
		{"the epoch", time.Unix(0, 0), 1},
		{"before the epoch", time.Unix(-100, 0), 1},
	} {
		if got := table.ExpirySeconds(test.at); got != test.want {
			t.Errorf("%s: ExpirySeconds = %d, want %d", test.name, got, test.want)
		}
	}
	if got := table.ExpiryTime(0); !got.IsZero() {
		t.Errorf("ExpiryTime(0) = %v, want never", got)
	}
}
