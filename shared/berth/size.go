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

// ParseSize is strict: no bare number, no sign, no fraction, no space, no zero,
// units spelled as they are listed. Error: invalid, with what is wrong.
func ParseSize(s string) (bytes int64, err error) {
	digits := leadingDigits(s)
	unit, known := sizeUnits[s[digits:]]
	switch {
	case s == "":
		return 0, Errorf(CodeInvalid, "is empty: %s", sizeRule)
	case s[0] == '-' || s[0] == '+':
		return 0, Errorf(CodeInvalid, "has a sign: %s", sizeRule)
	case digits == len(s):
		return 0, Errorf(CodeInvalid, "has no unit: %s", sizeRule)
	case strings.ContainsAny(s, " \t"):
		return 0, Errorf(CodeInvalid, "has a space: %s", sizeRule)
	case digits > 0 && (s[digits] == '.' || s[digits] == ','):
		return 0, Errorf(CodeInvalid, "has a fraction: %s", sizeRule)
	case digits == 0:
		return 0, Errorf(CodeInvalid, "does not begin with a number: %s", sizeRule)
	case !known:
		return 0, Errorf(CodeInvalid, "has an unknown unit: %s", sizeRule)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	switch {
	case err != nil || n > math.MaxInt64/unit:
		return 0, Errorf(CodeInvalid, "is too large")
	case n == 0:
		return 0, Errorf(CodeInvalid, "is zero: %s", sizeRule)
	}
	return n * unit, nil
}

// leadingDigits counts the ASCII digits that s begins with.
func leadingDigits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}

// Bytes is ParseSize of s.
func (s Size) Bytes() (int64, error) { return ParseSize(string(s)) }

// RoundUp converts bytes to a coarser unit, up to the next whole one: never to
// 0 for what is more than 0.
func RoundUp(bytes, unit int64) int64 {
	whole := bytes / unit
	if bytes%unit > 0 {
		whole++
	}
	return whole
}
