package table

import "time"

// ExpirySeconds is an expiry as every adapter stores it: seconds since 1970,
// rounded up, because DynamoDB's time to live knows whole seconds only. 0 is
// never.
func ExpirySeconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	// Long gone is still gone, not "never".
	return max(s, 1)
}

// ExpiryTime is the reverse of ExpirySeconds.
func ExpiryTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
