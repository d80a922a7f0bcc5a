//go:build linux

package spritestest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token opens the server; its organisation is Org.
const (
	Org   = "acme"
	Token = Org + "/1/tok/canary-2f7d0b"
)

// Fault is an answer that is not the usual one.
type Fault struct {
	Status int
	Header map[string]string
	Body   string
	// After lets the request have its effect first.
	After bool
	// Cut ends the connection in place of an answer.
	Cut bool
	// Late is when the usual answer begins, in place of all above.
	Late time.Duration
	// Held is what the usual answer waits for to be closed, in place of all above.
	Held <-chan struct{}
}

// ExecFault is how a session goes wrong.
type ExecFault int

// The faults of sessions.
const (
	ExecWorks      ExecFault = iota
	ExecSilent               // the command runs, and the connection is closed in good order without a frame
	ExecLosesExit            // output comes, and then the connection is closed in good order
	ExecNeverExits           // output comes, and then nothing more
	ExecHolds                // the connection stays open for seconds after the exit
)

// Server is a running service.
type Server struct {
	// URL is the API's base.
	URL  string
	root string
	http *httptest.Server

	mu          sync.Mutex // guards what follows
	sprites     map[string]*Sprite
	last        int
	faults      map[string][]Fault
	execFaults  []ExecFault
	requests    []string
	token       string
	hangCold    bool
	pageSize    int
	connections map[*session]bool
}

// Start runs a server until the test ends, with all its processes.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		root: t.TempDir(), sprites: map[string]*Sprite{}, faults: map[string][]Fault{}, token: Token, pageSize: 50,
		connections: map[*session]bool{},
	}
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL
	t.Cleanup(s.close)
	return s
}

func (s *Server) close() {
	s.CutSessions()
	s.http.CloseClientConnections()
	s.http.Close()
	for _, sprite := range s.Sprites() {
		sprite.end()
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request, *Sprite){
		"GET /v1/sprites/{name}":                 s.show,
		"PUT /v1/sprites/{name}":                 s.change,
		"DELETE /v1/sprites/{name}":              s.remove,
		"GET /v1/sprites/{name}/exec":            s.exec,
		"POST /v1/sprites/{name}/exec/{id}/kill": s.kill,
		"PUT /v1/sprites/{name}/fs/write":        s.write,
		"GET /v1/sprites/{name}/fs/read":         s.read,
		"GET /v1/sprites/{name}/policy/network":  s.rules,
		"POST /v1/sprites/{name}/policy/network": s.setRules,
		"GET /v1/sprites/{name}/checkpoints":     s.checkpoints,
		"POST /v1/sprites/{name}/checkpoint":     s.checkpoint,
	} {
		mux.HandleFunc(pattern, s.route(pattern, func(w http.ResponseWriter, r *http.Request) {
			sprite := s.Find(r.PathValue("name"))
			if sprite == nil {
				refuse(w, http.StatusNotFound, "not_found", "sprite not found")
				return
			}
			answer(w, r, sprite)
		}))
	}
	mux.HandleFunc("POST /v1/sprites", s.route("POST /v1/sprites", s.create))
	mux.HandleFunc("GET /v1/sprites", s.route("GET /v1/sprites", s.list))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>the page of a site</html>"))
	})
	return mux
}

// route checks the token and lets faults go first.
func (s *Server) route(pattern string, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, pattern)
		token := s.token
		var fault *Fault
		if queue := s.faults[pattern]; len(queue) > 0 {
			fault, s.faults[pattern] = &queue[0], queue[1:]
		}
		s.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			refuse(w, http.StatusUnauthorized, "unauthorized", "invalid token")
		case fault != nil && fault.Held != nil:
			select {
			case <-fault.Held:
			case <-r.Context().Done():
			}
			answer(w, r)
		case fault != nil && fault.Late > 0:
			time.Sleep(fault.Late)
			answer(w, r)
		case fault != nil:
			if fault.After {
				answer(httptest.NewRecorder(), r)
			}
			fault.answer(w)
		default:
			answer(w, r)
		}
	}
}

func (f *Fault) answer(w http.ResponseWriter) {
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
}

// Fail makes the next calls of a route fail, one after the other.
func (s *Server) Fail(pattern string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[pattern] = append(s.faults[pattern], faults...)
}

// FailExec makes the next sessions go wrong, one after the other.
func (s *Server) FailExec(faults ...ExecFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execFaults = append(s.execFaults, faults...)
}

// Revoke makes the token a bad one.
func (s *Server) Revoke() { s.SetToken("another") }

// SetToken makes another token the good one.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// HangCold lets calls about files hang while a sprite is cold.
func (s *Server) HangCold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangCold = true
}

// PageSize is how many sprites a page of a list has at most.
func (s *Server) PageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// Requests are the routes that were called, in their order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Find is the sprite with a name, or nil.
func (s *Server) Find(name string) *Sprite {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sprites[name]
}

// Sprites are all, by their names.
func (s *Server) Sprites() []*Sprite {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Sprite
	for _, sprite := range s.sprites {
		all = append(all, sprite)
	}
	slices.SortFunc(all, func(a, b *Sprite) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Add makes a sprite as somebody else does.
func (s *Server) Add(t testing.TB, name string, labels ...string) *Sprite {
	t.Helper()
	sprite, err := s.add(name, labels, "")
	if err != nil {
		t.Fatal(err)
	}
	return sprite
}

func (s *Server) add(name string, labels []string, auth string) (*Sprite, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if auth == "" {
		auth = "sprite"
	}
	s.last++
	sprite := &Sprite{
		Name: name, Mark: "sprite-" + strconv.Itoa(s.last) + "-" + filepath.Base(filepath.Dir(s.root)), status: "cold", labels: labels, auth: auth,
		Root: filepath.Join(s.root, strconv.Itoa(s.last)), created: time.Now().UTC().Truncate(time.Second),
		url: "https://" + name + "-acme.sprites.app",
	}
	if err := sprite.begin(); err != nil {
		return nil, err
	}
	s.sprites[name] = sprite
	return sprite, nil
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]string{"error": code, "message": message})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
