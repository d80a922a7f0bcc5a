package berth_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAPublicURLIsHTTPSWithAStar(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://*.host.example.com":      "https://*.host.example.com",
		"https://*.Host.Example.com/":     "https://*.host.example.com",
		"https://*.host.example.com:443":  "https://*.host.example.com",
		"https://*.host.example.com:8443": "https://*.host.example.com:8443",
		"https://*.xn--bcher-kva.example": "https://*.xn--bcher-kva.example",
	} {
		got, err := berth.ParsePublicURL(in)
		if err != nil || got.String() != want {
			t.Errorf("ParsePublicURL(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for in, says := range map[string]string{
		"":                                        "must be a URL",
		"http://*.host.example.com":               "https alone",
		"ftp://*.host.example.com":                "https alone",
		"*.host.example.com":                      "https alone",
		"HTTPS://*.host.example.com":              "https://",
		"https://host.example.com":                "*. before its name",
		"https://*":                               "*. before its name",
		"https://*host.example.com":               "*. before its name",
		"https://a.*.example.com":                 "*. before its name",
		"https://*.*.example.com":                 "no other star",
		"https://*.":                              "must be a URL",
		"https://10.0.0.7":                        "below an address",
		"https://[fd00::7]":                       "below an address",
		"https://*.10.0.0.7":                      "below an address",
		"https://*.example.7":                     "for an address",
		"https://*.com":                           "two parts",
		"https://*.localhost":                     "two parts",
		"https://*.host.example.com/previews":     "no path",
		"https://*.host.example.com?a=b":          "no path",
		"https://*.host.example.com?":             "no path",
		"https://*.host.example.com#":             "no path",
		"https://me:pw@*.host.example.com":        "user or password",
		"https://*.host.example.com:0":            "port",
		"https://*.host.example.com:":             "port",
		"https://*.host.example.com:65536":        "port",
		"https://*.host.example.com:http":         "must be a URL",
		"https://*.bücher.example":                "xn--",
		"https://*.host .example.com":             "ASCII",
		"https://*.ho_st.example.com":             "letters, digits and dashes",
		"https://*.-host.example.com":             "letters, digits and dashes",
		"https://*.host..example.com":             "letters, digits and dashes",
		"https://*.host.example.com.":             "letters, digits and dashes",
		"https://*.a" + strings.Repeat("b.c", 75): "bytes at most",
	} {
		if _, err := berth.ParsePublicURL(in); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("ParsePublicURL(%q): %v, want what says %q", in, err, says)
		}
	}
}

func TestALabelIsThatOfOneNameBelowAPublicURL(t *testing.T) {
	t.Parallel()
	usual, err := berth.ParsePublicURL("https://*.host.example.com")
	if err != nil {
		t.Fatal(err)
	}
	other, err := berth.ParsePublicURL("https://*.host.example.com:8443")
	if err != nil {
		t.Fatal(err)
	}
	if origin := other.Origin("abc"); origin != "https://abc.host.example.com:8443" {
		t.Errorf("Origin = %s", origin)
	}
	for _, tt := range []struct {
		url  berth.PublicURL
		host string
		want string
	}{
		{usual, "abc.host.example.com", "abc"},
		{usual, "ABC.Host.example.COM.", "abc"},
		{usual, "abc.host.example.com:443", "abc"},
		{usual, "abc.host.example.com:8443", ""},
		{other, "abc.host.example.com:8443", "abc"},
		{other, "abc.host.example.com", "abc"}, // a proxy may leave it out
		{usual, "host.example.com", ""},
		{usual, ".host.example.com", ""},
		{usual, "a.b.host.example.com", ""},
		{usual, "abc.host.example.com.evil.example", ""},
		{usual, "abchost.example.com", ""},
		{usual, "10.0.0.7", ""},
		{usual, "[::1]:443", ""},
		{usual, "", ""},
		{berth.PublicURL{}, "abc.", ""},
		{berth.PublicURL{}, "abc", ""},
	} {
		label, ok := tt.url.Label(tt.host)
		if ok != (tt.want != "") || ok && label != tt.want {
			t.Errorf("%s: Label(%q) = %q, %v; want %q", tt.url, tt.host, label, ok, tt.want)
		}
	}
}
