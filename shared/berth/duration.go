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

// ParseDuration is strict: no bare number, no fraction, no sum, no zero.
func ParseDuration(s string) (time.Duration, error) {
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits <= 0 {
		return 0, Errorf(CodeInvalid, "%s", durationRule)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit, known := durationUnits[s[digits:]]
	switch {
	case !known || (err == nil && n == 0):
		return 0, Errorf(CodeInvalid, "%s", durationRule)
	case err != nil || n > int64(MaxDuration/unit):
		return 0, Errorf(CodeInvalid, "is longer than a year")
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
