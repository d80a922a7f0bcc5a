package embedded

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestOnlyWhoHasTheTokenEndsAServer(t *testing.T) {
	t.Parallel()
	const token = "the-token"
	for name, tt := range map[string]struct {
		method, path, authorization string
		want                        bool
	}{
		"with the token":                 {http.MethodPost, stopPath, "Bearer " + token, true},
		"without a token":                {http.MethodPost, stopPath, "", false},
		"with the token of another":      {http.MethodPost, stopPath, "Bearer other-one", false},
		"by a read":                      {http.MethodGet, stopPath, "Bearer " + token, false},
		"by another route":               {http.MethodPost, healthPath, "Bearer " + token, false},
		"with the token in another form": {http.MethodPost, stopPath, token, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := func(context.Context) (bool, error) { return true, nil }
			e := &ending{token: token, asked: make(chan struct{}), live: live}
			handler := e.beside(http.NotFoundHandler())
			for range 2 { // a second one is no panic
				w := httptest.NewRecorder()
				r := httptest.NewRequest(tt.method, tt.path, nil)
				r.Header.Set("Authorization", tt.authorization)
				handler.ServeHTTP(w, r)
				if got := w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"live_runs":true`); got != tt.want {
					t.Errorf("answered %d, %s", w.Code, w.Body)
				}
			}
			asked := false
			select {
			case <-e.asked:
				asked = true
			default:
			}
			if asked != tt.want {
				t.Errorf("the server ends: %t, want %t", asked, tt.want)
			}
		})
	}
}

func TestAServerThatDoesNotKnowHowToStopIsNamed(t *testing.T) {
	t.Parallel()
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != healthPath {
			http.NotFound(w, r)
			return
		}
		prove(token, http.HandlerFunc(ok)).ServeHTTP(w, r)
	}))
	defer server.Close()
	p, made := dataDir(t, server.URL)
	token = made
	lock, err := p.claim()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, err = Stop(t.Context(), p.dir)
	if e, ok := err.(*berth.Error); !ok || e.Code != berth.CodeUnavailable || !strings.Contains(e.Remediation, "end process ") {
		t.Errorf("Stop = %#v, want unavailable with the process to end", err)
	}
}

func TestNothingIsStoppedWhereNoServerRuns(t *testing.T) {
	t.Parallel()
	never := t.TempDir() + "/never"
	killed, _ := dataDir(t, "http://127.0.0.1:1") // its file is left
	lock, err := killed.claim()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{never, killed.dir} {
		if _, err := Stop(t.Context(), dir); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("Stop = %v, want not_found", err)
		}
	}
	if _, err := os.Stat(never); err == nil {
		t.Error("Stop has made a data folder")
	}
}
