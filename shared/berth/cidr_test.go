package berth_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestParseCIDRClearsTheBitsBehindThePrefix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "208.80.154.232/24": "208.80.154.0/24", "1.2.3.4/32": "1.2.3.4/32",
		"0.0.0.0/0": "0.0.0.0/0", "fd00::1/8": "fd00::/8", "::1/128": "::1/128",
	} {
		got, err := berth.ParseCIDR(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseCIDR(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseCIDRSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const noCIDR = "is not a CIDR, such as 10.0.0.0/8 or fd00::/8"
	for text, want := range map[string]string{
		"10.0.0.0":           "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address",
		"example.com":        "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address",
		"":                   "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address",
		"10.0.0.0/33":        noCIDR,
		"10.0.0/8":           noCIDR,
		"010.0.0.0/8":        noCIDR,
		"10.0.0.0/08":        noCIDR,
		"10.0.0.0/-1":        noCIDR,
		" 10.0.0.0/8":        noCIDR,
		"fe80::1%eth0/64":    noCIDR,
		"example.com/24":     noCIDR,
		"::ffff:1.2.3.4/120": "is an IPv4 network in IPv6 form: write it as IPv4",
	} {
		_, err := berth.ParseCIDR(text)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseCIDR(%q): got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseCIDR(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "fd00::/8", "1.2.3.4", "::ffff:1.2.3.4/100", "fe80::%1/64"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prefix, err := berth.ParseCIDR(text)
		if err != nil {
			return
		}
		again, err := berth.ParseCIDR(prefix.String())
		if err != nil || again != prefix {
			t.Errorf("ParseCIDR(%q) = %v, which reads as %v, %v", text, prefix, again, err)
		}
	})
}
