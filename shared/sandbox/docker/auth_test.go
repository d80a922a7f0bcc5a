package docker

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestCredentialsAreReadFromTheClientsFile(t *testing.T) {
	t.Parallel()
	find, err := ParseAuths([]byte(`{"auths": {
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
		got, err := find(t.Context(), registry)
		if err != nil || got == nil || got.Username != want[0] || string(got.Password.Reveal()) != want[1] || string(got.IdentityToken.Reveal()) != want[2] {
			t.Errorf("%s: %v, %v", registry, got, err)
		}
	}
	if got, err := find(t.Context(), "registry.example"); got != nil || err != nil {
		t.Errorf("a registry on another port: %v, %v", got, err)
	}
}

func TestMalformedCredentialsAreToldWithoutThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"auths": {"r": {"auth": "canary not base64"}}}`, `{"auths": {"r": {"auth": "Y2FuYXJ5"}}}`, `canary`} {
		_, err := ParseAuths([]byte(text))
		if berth.CodeOf(err) != berth.CodeInvalid || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "Y2FuYXJ5") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
