package berth_test

import (
	"math"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

const sizeRule = ": must be a whole number of 1 or more and a unit, such as 512MiB or 4GB (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"

func TestParseSizeTakesWholeNumbersWithAUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1B": 1, "4KB": 4_000, "512MB": 512_000_000, "16GB": 16_000_000_000, "2TB": 2_000_000_000_000,
		"1KiB": 1024, "512MiB": 512 << 20, "4GiB": 4 << 30, "1TiB": 1 << 40, "007GB": 7_000_000_000,
		"9223372036854775807B": math.MaxInt64,
	} {
		got, err := berth.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSizeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "is empty" + sizeRule,
		"512":                   "has no unit" + sizeRule,
		"0":                     "has no unit" + sizeRule,
		"-1":                    "has a sign" + sizeRule,
		"-1GB":                  "has a sign" + sizeRule,
		"+1GB":                  "has a sign" + sizeRule,
		"0GB":                   "is zero" + sizeRule,
		"1.5GB":                 "has a fraction" + sizeRule,
		"1,5GB":                 "has a fraction" + sizeRule,
		"4 GB":                  "has a space" + sizeRule,
		" 4GB":                  "has a space" + sizeRule,
		"4gb":                   "has an unknown unit" + sizeRule,
		"4G":                    "has an unknown unit" + sizeRule,
		"1e3MB":                 "has an unknown unit" + sizeRule,
		"GB":                    "does not begin with a number" + sizeRule,
		"٤GB":                   "does not begin with a number" + sizeRule,
		"9223372036854775808B":  "is too large",
		"9999999TB":             "is too large",
		"99999999999999999999B": "is too large",
	} {
		_, err := berth.ParseSize(text)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseSize(%q): got %v, want %q", text, err, want)
		}
	}
}

func TestRoundUpNeverReachesZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bytes, unit, want int64 }{
		{1, 1 << 30, 1},
		{512_000_000, 1_000_000_000, 1},
		{1 << 30, 1 << 30, 1},
		{1<<30 + 1, 1 << 30, 2},
		{0, 1024, 0},
		{math.MaxInt64, 2, math.MaxInt64/2 + 1},
	} {
		if got := berth.RoundUp(c.bytes, c.unit); got != c.want {
			t.Errorf("RoundUp(%d, %d) = %d, want %d", c.bytes, c.unit, got, c.want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"512", "-1", "0", "1.5GB", "16GB", "9223372036854775807B", "1 GB", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := berth.ParseSize(text)
		if err == nil && (n < 1 || !strings.HasSuffix(text, "B") || text[0] < '0' || text[0] > '9') {
			t.Errorf("ParseSize(%q) = %d", text, n)
		}
		if err != nil && len(text) > 12 && strings.Contains(err.Error(), text) {
			t.Errorf("ParseSize(%q): the error holds the value: %v", text, err)
		}
	})
}
