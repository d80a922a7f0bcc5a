//go:build linux

package daytonatest

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

// toolbox is what runs inside one sandbox.
type toolbox struct {
	sandbox *sandbox

	mu       sync.Mutex // guards all below
	sessions map[string]*session
}

func newToolbox(b *sandbox) *toolbox { return &toolbox{sandbox: b, sessions: map[string]*session{}} }

const marker = "DAYTONA_SANDBOX_ID="

// environ is what processes of the sandbox have.
func (t *toolbox) environ() []string {
	return []string{
		marker + t.sandbox.id, "HOME=" + t.sandbox.home(), "USER=daytona", "LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// processes finds everything that runs in the sandbox: by the environment it
// inherited, by its program's arguments, and below those.
func (t *toolbox) processes(all []proctree.Process) []proctree.Process {
	mark, dir := []byte(marker+t.sandbox.id), []byte(filepath.Join(t.sandbox.server.dir, t.sandbox.id)+"/")
	found := map[int]proctree.Process{}
	for _, p := range all {
		folder := filepath.Join("/proc", itoa(p.PID))
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		arguments, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		if p.PID != os.Getpid() && (bytes.Contains(environ, mark) || bytes.Contains(arguments, dir)) {
			found[p.PID] = p
			for _, child := range proctree.Below(all, p.PID) {
				found[child.PID] = child
			}
		}
	}
	list := make([]proctree.Process, 0, len(found))
	for _, p := range found {
		list = append(list, p)
	}
	return list
}

const endLimit = 20 * time.Second

// end switches the machine off.
func (t *toolbox) end() {
	t.mu.Lock()
	sessions := t.sessions
	t.sessions = map[string]*session{}
	t.mu.Unlock()
	proctree.End(context.Background(), proctree.Ending{Find: t.processes, Limit: endLimit, Again: 6})
	for _, n := range sessions {
		n.close()
	}
}

// serveToolbox is the proxy and the daemon behind it.
func (s *Server) serveToolbox(w http.ResponseWriter, r *http.Request) {
	if !s.authorizedToolbox(w, r) {
		return
	}
	id, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/toolbox/"), "/")
	s.mu.Lock()
	b := s.sandboxes[id] // a name fails
	state, late := "", false
	if b != nil {
		s.autoStop(b)
		state, late = b.state(), time.Now().Before(b.toolboxAt)
	}
	if state == "started" {
		b.touched = time.Now()
	}
	s.mu.Unlock()
	switch {
	case b == nil:
		s.fail(w, r, http.StatusNotFound, "NOT_FOUND", "sandbox not found")
		return
	case state != "started":
		s.fail(w, r, http.StatusBadRequest, "BAD_REQUEST", "bad request: no IP address found. Is the Sandbox started?")
		return
	case late:
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if err := os.MkdirAll(b.home(), 0o755); err != nil {
		s.fail(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error())
		return
	}
	r.URL.Path = "/" + rest
	b.toolbox.routes().ServeHTTP(w, r)
}

func (s *Server) authorizedToolbox(w http.ResponseWriter, r *http.Request) bool {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	_, known := s.keys[key]
	s.mu.Unlock()
	if !known {
		s.fail(w, r, http.StatusUnauthorized, "UNAUTHORIZED", "unauthorized")
	}
	return known
}

// fail answers as the daemon does.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	s.answer(w, status, map[string]any{
		"statusCode": status, "message": message, "code": code, "timestamp": time.Now().UTC().Format(time.RFC3339), "path": r.URL.Path,
		"method": r.Method, "source": "DAYTONA_DAEMON",
	})
}

func (t *toolbox) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", t.text("version", "v0.190.0"))
	mux.HandleFunc("GET /work-dir", t.text("dir", t.sandbox.home()))
	mux.HandleFunc("GET /user-home-dir", t.text("dir", t.sandbox.home()))
	mux.HandleFunc("POST /process/execute", t.execute)
	mux.HandleFunc("POST /process/session", t.openSession)
	mux.HandleFunc("GET /process/session/{id}", t.describeSession)
	mux.HandleFunc("DELETE /process/session/{id}", t.deleteSession)
	mux.HandleFunc("POST /process/session/{id}/exec", t.sessionExec)
	mux.HandleFunc("GET /process/session/{id}/command/{command}", t.describeCommand)
	mux.HandleFunc("POST /process/session/{id}/command/{command}/input", t.commandInput)
	mux.HandleFunc("GET /process/session/{id}/command/{command}/logs", t.commandLogs)
	mux.HandleFunc("POST /files/bulk-upload", t.bulkUpload)
	mux.HandleFunc("GET /files/info", t.fileInfo)
	mux.HandleFunc("GET /files/download", t.download)
	mux.HandleFunc("POST /files/move", t.moveFile)
	mux.HandleFunc("DELETE /files", t.deleteFile)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.fail(w, r, http.StatusNotFound, "NOT_FOUND", "404 page not found")
	})
	return mux
}

func (t *toolbox) fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	t.sandbox.server.fail(w, r, status, code, message)
}

func (t *toolbox) text(name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		t.sandbox.server.answer(w, http.StatusOK, map[string]string{name: value})
	}
}
