package registryauth

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestCredentialsAreReadFromTheClientsFile(t *testing.T) {
	t.Parallel()
	file, err := Parse([]byte(`{"auths": {
		"https://index.docker.io/v1/": {"auth": "aHViOnA6d2l0aC1jb2xvbg=="},
		"registry.example:5000": {"username": "u", "password": "p"},
		"https://other.example/v2/": {"identitytoken": "token"}
	}, "credsStore": "ignored"}`))
	if err != nil {
		t.Fatal(err)
	}
	for registry, want := range map[string][3]string{
		"docker.io": {"hub", "p:with-colon"}, "registry.example:5000": {"u", "p"}, "other.example": {"", "", "token"},
	} {
		got := file.Find(registry)
		if got == nil || got.Username != want[0] || string(got.Password.Reveal()) != want[1] || string(got.IdentityToken.Reveal()) != want[2] {
			t.Errorf("%s: %v", registry, got)
		}
	}
	if got := file.Find("registry.example"); got != nil {
		t.Errorf("a registry on another port: %v", got)
	}
}

func TestMalformedCredentialsAreToldWithoutThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"auths": {"r": {"auth": "canary not base64"}}}`, `{"auths": {"r": {"auth": "Y2FuYXJ5"}}}`, `canary`} {
		_, err := Parse([]byte(text))
		if berth.CodeOf(err) != berth.CodeInvalid || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "Y2FuYXJ5") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
