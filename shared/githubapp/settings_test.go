package githubapp_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/githubapp/githubtest"
)

// secrets is a store with one secret.
type secrets struct{ name, value string }

func (s secrets) Put(context.Context, string, berth.SecretValue) error { return nil }
func (s secrets) Delete(context.Context, string) error                 { return nil }
func (s secrets) Read(_ context.Context, name string) (berth.SecretValue, error) {
	if name != s.name {
		return berth.SecretValue{}, berth.Errorf(berth.CodeNotFound, "there is no secret %s", name)
	}
	return berth.NewSecretValue([]byte(s.value)), nil
}

func TestSettingsAreReadFromTheSecretOfTheInstallation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secrets
		want string // the id
		code berth.Code
	}{
		"none":           {secrets{"provider/other", ""}, "", ""},
		"a number as id": {secrets{"provider/github/app", `{"app_id":42,"private_key":"k","url":"https://g.example"}`}, "42", ""},
		"a text as id":   {secrets{"provider/github/app", `{"app_id":"Iv1.abc","private_key":"k"}`}, "Iv1.abc", ""},
		"no JSON":        {secrets{"provider/github/app", "hunter2-hunter2"}, "", berth.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := githubapp.FromSecret(c.secrets)(t.Context())
			if berth.CodeOf(err) != c.code || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("error %v, want code %q", err, c.code)
			}
			if got == nil && c.want != "" || got != nil && got.ID != c.want {
				t.Errorf("settings %+v, want id %q", got, c.want)
			}
		})
	}
}

func TestAKeyFileIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	s := githubtest.Start(t, githubtest.Options{})
	file := filepath.Join(t.TempDir(), "app.pem")
	if _, err := githubapp.FromFile("1", file, ""); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(file, []byte(s.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := githubapp.FromFile("1", file, ""); err != nil {
		t.Errorf("FromFile: %v", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := githubapp.FromFile("1", file, ""); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a file that others may read: %v", err)
	}
}

func TestEachGitHubHasItsAPI(t *testing.T) {
	t.Parallel()
	for web, api := range map[string]string{
		"":                             "https://api.github.com/",
		"https://GitHub.com/":          "https://api.github.com/",
		"https://acme.ghe.com":         "https://api.acme.ghe.com/",
		"https://git.example.com:8443": "https://git.example.com:8443/api/v3/",
	} {
		var asked []string
		s := newSite(t)
		s.settings.URL = web
		app := githubapp.New(githubapp.Config{
			Settings: func(context.Context) (*githubapp.Settings, error) { return &s.settings, nil }, Clock: s.clock,
			HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.String())
				return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			})},
		})
		host := "github.com"
		if web != "" {
			host = strings.ToLower(strings.Trim(strings.TrimPrefix(web, "https://"), "/"))
		}
		if _, err := app.FindCredential(t.Context(), "https://"+host+"/o/r.git"); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("%s: %v", web, err)
		}
		want := []string{"https://" + host + "/o/r.git/info/refs?service=git-upload-pack", api + "repos/o/r/installation", api + "app"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("%q asks (-want +got):\n%s", web, diff)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
