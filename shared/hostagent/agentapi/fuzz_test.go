package agentapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// Whatever comes, the answer is the agent's own, and nothing panics: stand has no
// methods but a few, and those take only ids that are some.
func FuzzTheEdge(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/v1/health", "", ""},
		{"PUT", sandbox, "", `{"run":"r","environment":{}}`},
		{"PUT", sandbox + "/commands/c", "ref=x", `{"argv":["dHJ1ZQ=="],"env":[{"name":"QQ==","value":"QQ=="}],"mask":["QQ=="],"timeout":5}`},
		{"GET", sandbox + "/commands/c/output", "offset=-1&limit=5&wait=30s", ""},
		{"POST", sandbox + "/commands/..%2Fc/cancel", "", ""},
		{"DELETE", "/v1/local/sandboxes/%2e%2e", "", ""},
		{"PUT", sandbox + "/files", "path=%ff&size=1&mode=511", "x"},
		{"GET", "//v1/../v1/./health", "a;b", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	s, err := agentapi.New(agentapi.Config{Token: token, Installation: "mine", Providers: agentapi.Providers{berth.ProviderLocal: &stand{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		u, err := url.Parse("http://agent" + path)
		if err != nil || method == "" || !strings.HasPrefix(path, "/") {
			return
		}
		u.RawQuery = query
		for _, missing := range []string{"/start", "/stop", "/input", "/signal", "/files", "/grep", "/glob", "/commands/"} {
			if strings.Contains(u.Path, missing) && !strings.HasSuffix(u.Path, "/output") && !strings.HasSuffix(u.Path, "/cancel") && method != http.MethodPut {
				return // stand does not stand in for it
			}
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header = http.Header{"Authorization": {"Bearer " + token}, agentapi.InstallationHeader: {"mine"}}
		if body != "" {
			r.Header.Set("Content-Type", agentapi.MediaJSON)
			if strings.HasSuffix(u.Path, "/files") {
				r.Header.Set("Content-Type", agentapi.MediaBytes)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Fatalf("%s %s?%s %q: %s", method, path, query, body, w.Body)
		}
		if w.Code >= 300 {
			if _, ok := agentapi.ReadProblem(w.Body.Bytes()); !ok || w.Header().Get("Content-Type") != agentapi.MediaProblem {
				t.Fatalf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
			}
		}
		if w.Header().Get(agentapi.RequestHeader) == "" {
			t.Fatalf("%s %s: no request id", method, path)
		}
	})
}
