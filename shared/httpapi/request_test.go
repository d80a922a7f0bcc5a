package httpapi_test

import (
	"bytes"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// request makes a request from `GET /path?query`, below the API's prefix unless
// the path begins with two slashes.
func request(t *testing.T, line string, body []byte, headers ...string) httpapitest.Request {
	t.Helper()
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		t.Fatalf("bad request line %q", line)
	}
	path, rawQuery, _ := strings.Cut(target, "?")
	if rest, whole := strings.CutPrefix(path, "//"); whole {
		path = "/" + rest
	} else {
		path = "/api/v1" + path
	}
	query, err := url.ParseQuery(rawQuery)
	must(t, err)
	r := httpapitest.Request{Method: method, Path: path, Query: query, Header: http.Header{}, Body: body}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			t.Fatalf("bad header %q", h)
		}
		r.Header[http.CanonicalHeaderKey(name)] = []string{strings.TrimPrefix(value, " ")}
	}
	return r
}

// syncBuffer takes log lines from many goroutines.
type syncBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(s, nil)) }

// ordered goes through a table in one order, the same in both ways of serving.
func ordered[V any](table map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(table)) {
			if !yield(key, table[key]) {
				return
			}
		}
	}
}
