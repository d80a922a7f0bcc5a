package httpapi_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// TestMain fails unless the suite, when it runs whole, has sent each route an
// event of the gateway that succeeded.
func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 && wholeSuite() {
		for _, route := range httpapi.Routes {
			if !route.Embedded && !served.has(route) {
				fmt.Printf("no test sees %s (%s %s) succeed as an event of the gateway\n", route.ID, route.Method, route.Path)
				status = 1
			}
		}
	}
	os.Exit(status)
}

// wholeSuite reports whether no flag leaves tests out.
func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

var served = &routes{mux: routeMux(), seen: map[string]bool{}}

// routes are those that an event was sent to with success.
type routes struct {
	mux *http.ServeMux

	mu   sync.Mutex // guards seen
	seen map[string]bool
}

func pattern(r httpapi.Route) string { return r.Method + " " + httpapi.Prefix + r.Path }

func routeMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range httpapi.Routes {
		mux.HandleFunc(pattern(route), func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}

// noting is do, which notes the routes that an event succeeds on.
func (s *routes) noting(t *testing.T, do httpapitest.Do) httpapitest.Do {
	do = holding(t, do)
	if !httpapitest.AsEvents(t) {
		return do
	}
	return func(r httpapitest.Request) httpapitest.Response {
		resp := do(r)
		if u, err := url.Parse(r.Path); err == nil && resp.Status < 300 {
			_, found := s.mux.Handler(&http.Request{Method: r.Method, URL: u, Host: httpapitest.Host})
			s.mu.Lock()
			s.seen[found] = true
			s.mu.Unlock()
		}
		return resp
	}
}

// served is the API as it is served in the way that t is of: by one handler, or
// for events by a function for each route.
func (f *fixture) served(t *testing.T) http.Handler {
	if !httpapitest.AsEvents(t) {
		return f.api
	}
	var mu sync.Mutex // guards functions
	functions := map[string]*httpapi.API{}
	function := func(route httpapi.Route) *httpapi.API {
		mu.Lock()
		defer mu.Unlock()
		if functions[route.ID] == nil {
			api, err := httpapi.Operation(route.ID, f.cfg)
			must(t, err)
			functions[route.ID] = api
			t.Cleanup(func() { must(t, api.Close(context.WithoutCancel(t.Context()))) })
		}
		return functions[route.ID]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, found := served.mux.Handler(r); found != "" {
			for _, route := range httpapi.Routes {
				if pattern(route) == found {
					function(route).ServeHTTP(w, r)
					return
				}
			}
		}
		f.api.ServeHTTP(w, r) // no function has it: the gateway answers
	})
}

func (s *routes) has(route httpapi.Route) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[pattern(route)]
}
