package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/version"
)

// fake is a small server that speaks the wire. It holds what tests put in, and
// keeps what was sent to it.
type fake struct {
	*httptest.Server
	t *testing.T

	mu           sync.Mutex // guards what follows
	environments map[string]map[string]any
	versions     map[string]int
	variables    map[string]string
	secrets      map[string]berth.SecretRequest
	runs         []*fakeRun
	sandboxes    []berth.Sandbox
	commands     map[berth.CommandID]*fakeCommand
	files        map[string]fakeFile
	requests     []string // method and path
	tokens       []string // that were sent
	key          string   // a token that is taken beside test-token
	keys         []berth.Key
	hosts        []berth.Host
	runRequest   berth.RunRequest
	plan         fakeRun // what the next run is to do
	preflight    berth.Preflight
	sshLine      string               // how a shell is opened
	previewURL   string               // how a port is reached
	ticket       *berth.Ticket        // or else with this
	tickets      func() *berth.Ticket // instead of ticket
	previewAsked []berth.PreviewRequest
	refuse       func(method, path string) *problem
}

type problem struct {
	Status      int             `json:"status"`
	Code        berth.Code      `json:"code"`
	Detail      string          `json:"detail"`
	Remediation string          `json:"remediation,omitempty"`
	Errors      []berth.Problem `json:"errors,omitempty"`
	RequestID   string          `json:"request_id,omitempty"`
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		t: t, environments: map[string]map[string]any{}, versions: map[string]int{}, variables: map[string]string{},
		secrets: map[string]berth.SecretRequest{}, commands: map[berth.CommandID]*fakeCommand{}, files: map[string]fakeFile{},
	}
	f.putEnvironment(map[string]any{"id": "local", "provider": "local"})
	mux := http.NewServeMux()
	f.routeEnvironments(mux)
	f.routeValues(mux)
	f.routeRuns(mux)
	f.routeSandboxes(mux)
	f.routeKeys(mux)
	f.routeHosts(mux)
	mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, version.Info("test")) })
	mux.HandleFunc("GET /api/v1/whoami", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, berth.Principal{Name: "owner", Scopes: []berth.Scope{berth.ScopeAdmin}})
	})
	f.Server = httptest.NewServer(f.edge(mux))
	t.Cleanup(f.Close)
	return f
}

// edge checks the token, keeps the request's line and answers refusals.
func (f *fake) edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v1")
		f.mu.Lock()
		f.requests = append(f.requests, line)
		refuse, key := f.refuse, f.key
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		f.tokens = append(f.tokens, token)
		f.mu.Unlock()
		if token != "test-token" && (key == "" || token != key) {
			fail := problem{Status: 401, Code: berth.CodeUnauthenticated, Detail: "the key is not known"}
			fail.write(w)
			return
		}
		if refuse != nil {
			if p := refuse(r.Method, strings.TrimPrefix(r.URL.Path, "/api/v1")); p != nil {
				p.write(w)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *problem) write(w http.ResponseWriter) {
	if p.Status == 0 {
		p.Status = p.Code.Info().HTTP
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

func problemf(code berth.Code, format string, args ...any) *problem {
	return &problem{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fake) body(r *http.Request, into any) {
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		f.t.Errorf("%s %s: body: %v", r.Method, r.URL.Path, err)
	}
}

func (f *fake) sent(line string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.requests, line)
}

func page[T any](items []T) berth.List[T] { return berth.List[T]{Items: items} }

var fakeNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
