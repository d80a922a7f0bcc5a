package berth_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const durationRule = ": must be one whole number of 1 or more and one unit, such as 90s or 30m (ms, s, m, h, d)"

func TestParseDurationTakesOneNumberAndOneUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1ms": time.Millisecond, "90s": 90 * time.Second, "30m": 30 * time.Minute, "2h": 2 * time.Hour,
		"1d": 24 * time.Hour, "365d": 365 * 24 * time.Hour,
	} {
		got, err := berth.ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseDurationSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "is empty" + durationRule,
		"30":                    "has no unit" + durationRule,
		"0s":                    "is zero" + durationRule,
		"-5m":                   "has a sign" + durationRule,
		"1.5h":                  "has a fraction" + durationRule,
		"1h30m":                 "is a sum of several spans" + durationRule,
		"30 m":                  "has a space" + durationRule,
		"30M":                   "has an unknown unit" + durationRule,
		"5us":                   "has an unknown unit" + durationRule,
		"m":                     "does not begin with a number" + durationRule,
		"366d":                  "is longer than a year",
		"99999999999999999999s": "is longer than a year",
	} {
		_, err := berth.ParseDuration(text)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseDuration(%q): got %v, want %q", text, err, want)
		}
	}
}

func TestTheEmptyDurationIsNone(t *testing.T) {
	t.Parallel()
	if d, err := berth.Duration("").Parse(); d != 0 || err != nil {
		t.Errorf(`Duration("").Parse() = %v, %v; want 0`, d, err)
	}
}

func TestRoundUpToNeverMakesAStopNever(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want int64
	}{{30 * time.Second, 1}, {time.Minute, 1}, {61 * time.Second, 2}, {0, 0}} {
		if got := berth.RoundUpTo(c.d, time.Minute); got != c.want {
			t.Errorf("RoundUpTo(%v, minute) = %d, want %d", c.d, got, c.want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"30m", "1h30m", "0s", "-1s", "9223372036854775807d", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := berth.ParseDuration(text)
		if err == nil && (d < time.Millisecond || d > berth.MaxDuration) {
			t.Errorf("ParseDuration(%q) = %v", text, d)
		}
	})
}
