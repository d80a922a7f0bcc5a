//go:build linux

package daytonatest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Config says how the server is. The zero value is quick and kind.
type Config struct {
	// StartTime is how long a sandbox takes to start, BuildTime a snapshot to be
	// built and DeleteTime a sandbox to go.
	StartTime, BuildTime, DeleteTime time.Duration
	// ToolboxDelay is how long a started sandbox's toolbox is not there yet.
	ToolboxDelay time.Duration
	// CreateWait is how long the server itself waits for a start before it answers.
	CreateWait time.Duration
	// RetryAfter is what a 429 asks for.
	RetryAfter time.Duration
	// OldErrors answers 400 where newer servers say 409, for things in progress.
	OldErrors bool
	// KillTrees makes the end of a session the end of everything below its shell.
	KillTrees bool
	// ListLag is how late the list of sandboxes is.
	ListLag time.Duration
	// Skew is how far the server's clock is ahead, where it tells times of creation.
	Skew time.Duration
	// MaxSandboxes is the organization's quota; 0 is none.
	MaxSandboxes int
}

// Request is one that the server was sent.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
	Fault               Fault
}

// Server is a Daytona. It is safe for concurrent use.
type Server struct {
	config Config
	dir    string
	http   *httptest.Server
	work   sync.WaitGroup
	over   chan struct{}

	mu        sync.Mutex // guards all below
	keys      map[string][]string
	sandboxes map[string]*sandbox
	snapshots map[string]*snapshot
	requests  []Request
	fault     func(*http.Request) Fault
	held      map[string]chan struct{} // by method and end of path
	scripts   scripts
	idle      int // sessions in which nothing will run, with a success
	hang      int // and without an end
	truncate  int // uploads that will end early
	pretended map[string]string
	cut       chan struct{} // closed when the streams are cut
}

// Key is an API key with every permission that berth needs.
const Key = "dtn_0123456789abcdef0123456789abcdef"

// New starts a server that ends with the test, and everything in it.
func New(t testing.TB, config Config) *Server {
	t.Helper()
	s := &Server{
		config: config, dir: t.TempDir(), over: make(chan struct{}), cut: make(chan struct{}), sandboxes: map[string]*sandbox{}, snapshots: map[string]*snapshot{},
		keys: map[string][]string{Key: {"write:sandboxes", "delete:sandboxes", "write:snapshots", "delete:snapshots"}},
	}
	for name, size := range map[string][3]int{"daytona-small": {1, 1, 3}, "daytona-medium": {2, 4, 8}, "daytona-large": {4, 8, 10}} {
		s.snapshots[name] = &snapshot{
			id: newUUID(), name: name, general: true, cpu: size[0], memory: size[1], disk: size[2],
			created: time.Now().Add(-100 * 24 * time.Hour), steps: []step{{state: "active"}},
		}
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.close)
	return s
}

func (s *Server) close() {
	s.mu.Lock()
	var all []*sandbox
	for _, b := range s.sandboxes {
		all = append(all, b)
	}
	s.mu.Unlock()
	close(s.over)
	for _, b := range all {
		b.powerOff()
	}
	s.http.CloseClientConnections()
	s.http.Close()
	s.work.Wait()
}

// URL is the control plane's base.
func (s *Server) URL() string { return s.http.URL + "/api" }

// Host is the server without the path of the API: it answers with a dashboard.
func (s *Server) Host() string { return s.http.URL }

// AllowKey lets a key in that has the permissions.
func (s *Server) AllowKey(key string, permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = permissions
}

// RevokeKey keeps a key out from now on.
func (s *Server) RevokeKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}

// Requests are those so far, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count counts the requests of a method whose path ends so.
func (s *Server) Count(method, suffix string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}

const maxBody = 64 << 20

// serve records the request, does harm if it is to, and hands it on.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") { // those are read as they come
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	s.mu.Lock()
	fault := None
	if s.fault != nil {
		fault = s.fault(r)
	}
	kept := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Fault: fault}
	if len(body) <= 64<<10 {
		kept.Body = string(body)
	}
	s.requests = append(s.requests, kept)
	held := s.heldBy(r)
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-s.over:
			return
		case <-r.Context().Done():
			return
		}
	}
	if s.harm(w, r, fault) {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), faultKey{}, fault))
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.serveAPI(w, r)
	case strings.HasPrefix(r.URL.Path, "/toolbox/"):
		s.serveToolbox(w, r)
	case strings.HasPrefix(r.URL.Path, "/logs/"):
		s.serveLogs(w, r)
	default:
		dashboard(w)
	}
}

// dashboard is what every other path shows.
func dashboard(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><title>Daytona</title></head><body></body></html>")
}

// serveAPI routes the control plane.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/config" {
		s.answer(w, http.StatusOK, configuration(s.http.URL))
		return
	}
	if !s.authorized(w, r) {
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/api-keys/current", s.currentKey)
	mux.HandleFunc("POST /api/sandbox", s.createSandbox)
	mux.HandleFunc("GET /api/sandbox", s.listSandboxes)
	mux.HandleFunc("GET /api/sandbox/{id}", s.getSandbox)
	mux.HandleFunc("DELETE /api/sandbox/{id}", s.deleteSandbox)
	mux.HandleFunc("PUT /api/sandbox/{id}/labels", s.replaceLabels)
	mux.HandleFunc("POST /api/sandbox/{id}/{action}", s.changeSandbox)
	mux.HandleFunc("POST /api/sandbox/{id}/{action}/{value}", s.setInterval)
	mux.HandleFunc("GET /api/sandbox/{id}/ports/{port}/signed-preview-url", s.signedPreview)
	mux.HandleFunc("GET /api/sandbox/{id}/toolbox-proxy-url", s.toolboxProxy)
	mux.HandleFunc("POST /api/snapshots", s.createSnapshot)
	mux.HandleFunc("GET /api/snapshots", s.listSnapshots)
	mux.HandleFunc("GET /api/snapshots/{id...}", s.getSnapshot)
	mux.HandleFunc("DELETE /api/snapshots/{id}", s.deleteSnapshot)
	mux.HandleFunc("POST /api/snapshots/{id}/activate", s.activateSnapshot)
	mux.HandleFunc("GET /api/snapshots/{id}/build-logs-url", s.buildLogsURL)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "Cannot "+r.Method+" "+r.URL.Path)
	})
	mux.ServeHTTP(w, r)
}

func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	permissions, known := s.keys[key]
	s.mu.Unlock()
	if !known {
		s.refuse(w, r, http.StatusUnauthorized, "Invalid credentials")
		return false
	}
	need := ""
	kind := "sandboxes"
	if strings.HasPrefix(r.URL.Path, "/api/snapshots") {
		kind = "snapshots"
	}
	switch r.Method {
	case http.MethodPost, http.MethodPut:
		need = "write:" + kind
	case http.MethodDelete:
		need = "delete:" + kind
	}
	for _, p := range permissions {
		if p == need {
			return true
		}
	}
	if need == "" {
		return true
	}
	s.refuse(w, r, http.StatusForbidden, "Forbidden resource: the key lacks "+need)
	return false
}

func (s *Server) currentKey(w http.ResponseWriter, r *http.Request) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	permissions := s.keys[key]
	s.mu.Unlock()
	s.answer(w, http.StatusOK, map[string]any{
		"name": "test", "value": "dtn_****", "createdAt": time.Now().UTC(), "permissions": permissions, "lastUsedAt": nil, "expiresAt": nil, "userId": "u",
	})
}

func (s *Server) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers as the control plane does.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	s.answer(w, status, map[string]any{
		"path": r.URL.Path, "timestamp": time.Now().UTC().Format(time.RFC3339), "statusCode": status, "error": http.StatusText(status), "message": message,
	})
}

// newUUID is an id as Daytona's are.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func configuration(base string) map[string]any {
	return map[string]any{
		"version": "v0.190.0", "proxyTemplateUrl": base + "/{{PORT}}-{{sandboxId}}", "proxyToolboxUrl": base + "/toolbox",
		"defaultSnapshot": "daytona-small", "dashboardUrl": base, "maxAutoArchiveInterval": 43200, "maintananceMode": false, "environment": "test",
		"linkedAccountsEnabled": false, "announcements": map[string]any{},
		"oidc": map[string]any{"issuer": base, "clientId": "daytona", "audience": "daytona"},
	}
}
