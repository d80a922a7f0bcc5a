package berth

import (
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes as it was written: a whole number and a unit, with
// nothing between. B, KB, MB, GB and TB are decimal, KiB, MiB, GiB and TiB binary.
type Size string

var sizeUnits = map[string]int64{
	"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

const sizeRule = "must be a whole number of 1 or more and a unit, such as 512MiB or 4GB (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"

// ParseSize is strict: no bare number, no fraction, no space, no zero.
func ParseSize(s string) (bytes int64, err error) {
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits <= 0 {
		if digits < 0 && s != "" {
			return 0, Errorf(CodeInvalid, "%q has no unit: %s", s, sizeRule)
		}
		return 0, Errorf(CodeInvalid, "%s", sizeRule)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit, known := sizeUnits[s[digits:]]
	switch {
	case !known:
		return 0, Errorf(CodeInvalid, "%s", sizeRule)
	case err != nil || n > math.MaxInt64/unit:
		return 0, Errorf(CodeInvalid, "is too large")
	case n == 0:
		return 0, Errorf(CodeInvalid, "%s", sizeRule)
	}
	return n * unit, nil
}

// Bytes is ParseSize of s.
func (s Size) Bytes() (int64, error) { return ParseSize(string(s)) }

// RoundUp converts bytes to a coarser unit, up to the next whole one: never to 0.
func RoundUp(bytes, unit int64) int64 { return (bytes + unit - 1) / unit }
