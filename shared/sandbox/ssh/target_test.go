package ssh

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestARefSaysWhereTheSandboxIs(t *testing.T) {
	t.Parallel()
	for _, h := range []host{
		{"box", "", "", false},
		{"user@example.com", "", "", false},
		{"u.s-er$@box", "/home/a b/config?x&y", "https://box", false},
		{"user@2001:db8::1", "", "http://[2001:db8::1]", false},
		{"::1", "/c", "", true},
		{"UPPER_case.host-name", "", "http://x", false},
	} {
		got, err := parseRef(h.ref())
		if err != nil || got != h {
			t.Errorf("parseRef(%q) = %+v, %v; want %+v", h.ref(), got, err, h)
		}
	}
	for _, ref := range []string{"", "box", "docker://x", "ssh://", "://"} {
		if _, err := parseRef(ref); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("parseRef(%q): %v", ref, err)
		}
	}
}

func TestAPreviewHasThePortBehindTheBase(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://devbox": "http://devbox:3000", "https://a.example": "https://a.example:3000", "http://[2001:db8::1]": "http://[2001:db8::1]:3000",
	} {
		if got := (host{previewBase: base}).preview("3000"); got != want {
			t.Errorf("preview on %s = %s, want %s", base, got, want)
		}
	}
}
