package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func greet(t *testing.T, c config, token, query string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/greet?"+query, nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	newGreeter(c).ServeHTTP(answer, request)
	return answer
}

// The environment of the run gives the words and the token.
func TestGreetsFromTheEnvironment(t *testing.T) {
	c, err := loadConfig()
	if err != nil {
		t.Skip("no environment: " + err.Error())
	}
	// A careless line, as they happen. A runner has to mask it.
	t.Logf("asking with token %s", c.token)
	answer := greet(t, c, c.token, "name=Ada")
	t.Logf("answer: %s", strings.TrimSpace(answer.Body.String()))
	if want := c.greeting + ", Ada!\n"; answer.Code != http.StatusOK || answer.Body.String() != want {
		t.Errorf("got %d %q, want 200 %q", answer.Code, answer.Body.String(), want)
	}
}

func TestRefuses(t *testing.T) {
	c := config{greeting: "Hi", token: "right-token"}
	for name, test := range map[string]struct {
		token, query string
		want         int
	}{
		"a wrong token":    {"wrong-token", "name=Ada", http.StatusUnauthorized},
		"no token":         {"", "name=Ada", http.StatusUnauthorized},
		"no name":          {"right-token", "", http.StatusBadRequest},
		"a very long name": {"right-token", "name=" + strings.Repeat("a", 65), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if answer := greet(t, c, test.token, test.query); answer.Code != test.want {
				t.Errorf("got %d, want %d", answer.Code, test.want)
			}
		})
	}
}

func TestLoadConfigNamesWhatIsMissing(t *testing.T) {
	t.Setenv("GREETING", "")
	t.Setenv("SERVICE_TOKEN", "x")
	if _, err := loadConfig(); err == nil || !strings.Contains(err.Error(), "GREETING") {
		t.Errorf("got %v, want an error that names GREETING", err)
	}
}
