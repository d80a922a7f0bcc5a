package credentials_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
)

func TestAServerHasOneForm(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://h":                      "https://h",
		" https://H.example.com/ ":       "https://h.example.com",
		"HTTPS://h:443/prod/":            "https://h/prod",
		"https://h:80":                   "https://h:80",
		"http://h:80/api/v1":             "http://h",
		"https://h/prod/api/v1//":        "https://h/prod",
		"http://[::1]:8080":              "http://[::1]:8080",
		"http://[::1]:80":                "http://[::1]",
		"https://h:":                     "https://h",
		"https://h/a%2Fb":                "https://h/a%2Fb",
		"https://h/Prod":                 "https://h/Prod",
		"":                               "",
		"h":                              "",
		"h:8080":                         "",
		"/h":                             "",
		"ftp://h":                        "",
		"https://":                       "",
		"https://:443":                   "",
		"https://h?x":                    "",
		"https://h?":                     "",
		"https://h#x":                    "",
		"https://user:hunter2hunter2@h":  "",
		"https://user@h":                 "",
		"https://h:hunter2hunter2":       "",
		"https://hunter2hunter2%zz":      "",
		"https://h/\x7fhunter2hunter2":   "",
		"https://[::1%25hunter2hunter2]": "https://[::1%hunter2hunter2]",
	} {
		got, err := credentials.ParseServer(raw)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseServer(%q) = %q, %v; want %q", raw, got, err, want)
		}
		if err != nil && (berth.CodeOf(err) != berth.CodeInvalid || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("ParseServer(%q) = %v", raw, err)
		}
		if want == "" {
			continue
		}
		if again, err := credentials.ParseServer(got); err == nil && again != got {
			t.Errorf("ParseServer(%q) = %q: it has two forms", got, again)
		}
	}
}

func TestNamesAreMadeOfServers(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://berth.example.com/prod":            "berth-example-com",
		"http://127.0.0.1:8080":                     "127-0-0-1-8080",
		"http://[::1]:80":                           "1--80",
		"https://local":                             "server",
		"https://ü":                                 "server",
		"https://" + strings.Repeat("a", 62) + ".b": strings.Repeat("a", 62),
	} {
		name := credentials.NameFor(server)
		if _, err := credentials.ParseName(name); name != want || err != nil {
			t.Errorf("NameFor(%s) = %q, %v; want %q", server, name, err, want)
		}
	}
}

func TestOnlyEncryptedAndLoopbackWaysAreSafe(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"https://h": true, "http://h": false, "http://127.0.0.1:1": true, "http://127.8.8.8": true, "http://[::1]": true, "http://localhost": true,
		"http://localhost.example.com": false, "http://127.0.0.1.example.com": false, "http://10.0.0.1": false, "": false, "HTTPS://h": true,
	} {
		if got := credentials.IsSafe(server); got != want {
			t.Errorf("IsSafe(%s) = %v, want %v", server, got, want)
		}
	}
}
