package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// FuzzServeHTTP sends whatever it likes: every answer has a status of the table
// and a request id, errors are problems, and nothing is internal.
func FuzzServeHTTP(f *testing.F) {
	_, api := benchAPI(f)
	for _, seed := range []struct{ method, path, query, header, body string }{
		{"GET", "/environments/ci", "", "", ""},
		{"GET", "/environments/..%2f", "limit=%zz", "", ""},
		{"GET", "//api/v1/../x", "a;b", "", ""},
		{"PUT", "/environments/ci", "", `"1", W/"2"`, `{"provider":"docker"}`},
		{"PATCH", "/environments/ci", "", "*", `{"resources":{"memory":null},"env":null,"x":null}`},
		{"POST", "/environments", "", "", `{"id":"a","id":"b"} x`},
		{"PUT", "/secrets/A", "", "*", `{"value_base64":"////"}`},
		{"PUT", "/variables/A", "", "", "{\"value\":\"\\ud800\"}"},
		{"POST", "/runs", "", "key", `{"command":["x"]}`},
		{"GET", "/runs/01kjm8e4", "", "", ""},
		{"GET", "/runs/01kjm8e400000000000000ra00/events", "after=9223372036854775807&wait=0s", "1", ""},
		{"GET", "/runs/01kjm8e400000000000000ra00/logs", "offset=4611686018427387904&stage=x", "", ""},
		{"GET", "/sandboxes/01kjm8e400000000000000sa00/files", "path=%00&guard=%0d%0a", "", ""},
		{"PUT", "/transfers/01kjm8e400000000000000sa00/data", "expires=9&signature=zz", "", "x"},
		{"DELETE", "/", "", "", ""},
		{"HEAD", "/health", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.header, seed.body)
	}
	statuses := map[int]bool{200: true, 201: true, 202: true, 204: true}
	for _, row := range berth.Codes {
		statuses[row.HTTP] = row.Code != berth.CodeInternal
	}
	f.Fuzz(func(t *testing.T, method, path, query, header, body string) {
		if strings.Contains(query, "wait") && !strings.Contains(query, "wait=0") {
			t.Skip("would take as long as it asks for")
		}
		req := httptest.NewRequest("GET", "/", strings.NewReader(body))
		u, err := url.ParseRequestURI("/api/v1" + path)
		if err != nil {
			t.Skip("net/http refuses such paths")
		}
		req.Method, req.URL, req.RequestURI = method, u, u.RequestURI()
		req.URL.RawQuery = query
		req.Header = http.Header{
			"Authorization": {"Bearer " + testToken}, "Content-Type": {"application/json"},
			"If-Match": {header}, "If-None-Match": {header}, "Idempotency-Key": {header}, "Last-Event-Id": {header},
		}
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, req)
		if !statuses[w.Code] || !berth.IsULID(w.Header().Get("X-Request-Id")) {
			t.Fatalf("%s %s: status %d\n%s", method, path, w.Code, w.Body)
		}
		if w.Code < 400 || method == http.MethodHead {
			return
		}
		var p httpapi.ProblemDocument
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code.Info().HTTP != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%s %s: status %d is no problem: %v\n%s", method, path, w.Code, err, w.Body)
		}
	})
}
