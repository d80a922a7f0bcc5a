package berth

import (
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time as it was written: one whole number and one unit
// (ms, s, m, h, d), such as 30m; not 1h30m.
type Duration string

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

const durationRule = "must be one whole number of 1 or more and one unit, such as 90s or 30m (ms, s, m, h, d)"

// MaxDuration is the longest span that any field takes.
const MaxDuration = 365 * 24 * time.Hour

// ParseDuration is strict: no bare number, no sign, no fraction, no sum, no
// zero. Error: invalid, with what is wrong.
func ParseDuration(s string) (time.Duration, error) {
	digits := leadingDigits(s)
	unit, known := durationUnits[s[digits:]]
	switch {
	case s == "":
		return 0, Errorf(CodeInvalid, "is empty: %s", durationRule)
	case s[0] == '-' || s[0] == '+':
		return 0, Errorf(CodeInvalid, "has a sign: %s", durationRule)
	case digits == len(s):
		return 0, Errorf(CodeInvalid, "has no unit: %s", durationRule)
	case strings.ContainsAny(s, " \t"):
		return 0, Errorf(CodeInvalid, "has a space: %s", durationRule)
	case digits > 0 && (s[digits] == '.' || s[digits] == ','):
		return 0, Errorf(CodeInvalid, "has a fraction: %s", durationRule)
	case digits == 0:
		return 0, Errorf(CodeInvalid, "does not begin with a number: %s", durationRule)
	case !known && strings.ContainsAny(s[digits:], "0123456789"):
		return 0, Errorf(CodeInvalid, "is a sum of several spans: %s", durationRule)
	case !known:
		return 0, Errorf(CodeInvalid, "has an unknown unit: %s", durationRule)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	switch {
	case err != nil || n > int64(MaxDuration/unit):
		return 0, Errorf(CodeInvalid, "is longer than a year")
	case n == 0:
		return 0, Errorf(CodeInvalid, "is zero: %s", durationRule)
	}
	return time.Duration(n) * unit, nil
}

// Parse is ParseDuration of d; the empty Duration is 0 without an error.
func (d Duration) Parse() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	return ParseDuration(string(d))
}

// RoundUpTo converts a span to a coarser unit, up to the next whole one: never
// to 0 for what is more than 0.
func RoundUpTo(d, unit time.Duration) int64 { return RoundUp(int64(d), int64(unit)) }
