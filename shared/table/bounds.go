package table

import (
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// Bounds are the ends of a query's range of sort keys, in byte order, which is
// also the order of code points.
type Bounds struct {
	// Low is the lower end; a key equal to it is in the range unless LowOpen.
	// Empty is no lower end.
	Low     string
	LowOpen bool
	// High is the upper end, itself never in the range. Empty is no upper end.
	High string
}

// BoundsOf joins the prefix and the two bounds of q into one range.
func BoundsOf(q berth.Query) Bounds {
	b := Bounds{Low: q.Prefix, High: PrefixEnd(q.Prefix)}
	if q.After != "" && q.After >= b.Low {
		b.Low, b.LowOpen = q.After, true
	}
	if q.Before != "" && (b.High == "" || q.Before < b.High) {
		b.High = q.Before
	}
	return b
}

// Contain reports whether a key with this sort key is in the range.
func (b Bounds) Contain(sk string) bool {
	if sk < b.Low || b.LowOpen && sk == b.Low {
		return false
	}
	return b.High == "" || sk < b.High
}

// Empty reports whether no key at all can be in the range.
func (b Bounds) Empty() bool { return b.High != "" && b.Low >= b.High }

// PrefixEnd returns the smallest valid string that is greater than every
// string that begins with prefix; empty when there is none.
func PrefixEnd(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
			continue
		case last == 0xD7FF: // the next ones are halves of surrogate pairs
			last = 0xE000
		default:
			last++
		}
		return prefix + string(last)
	}
	return ""
}
