//go:build linux

package daytonatest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
)

// log is what a command said, with a mark before each part of a stream, without
// NUL bytes, and with an end to every line.
type log struct {
	mu    sync.Mutex // guards all below
	file  *os.File
	size  int64
	over  bool
	grown chan struct{} // closed when there is more, or the end
}

func newLog(path string) (*log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return &log{file: f, grown: make(chan struct{})}, err
}

// copy takes over what a stream says, until its time is up.
func (l *log) copy(r io.Reader, mark string) {
	buffer := make([]byte, 64<<10)
	ended := true
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			part := bytes.ReplaceAll(buffer[:n], []byte{0}, nil)
			l.add(append([]byte(mark), part...))
			ended = buffer[n-1] == '\n'
		}
		if err != nil {
			break
		}
	}
	if !ended {
		l.add([]byte(mark + "\n"))
	}
}

func (l *log) add(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	n, _ := l.file.WriteAt(p, l.size)
	l.size += int64(n)
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.grown)
		l.grown = make(chan struct{})
	}
}

func (l *log) all() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := make([]byte, l.size)
	n, _ := l.file.ReadAt(b, 0)
	return b[:n]
}

// split takes the streams apart.
func (l *log) split() (output, stdout, stderr string) {
	var both, one, two bytes.Buffer
	current := &one
	b := l.all()
	for i := 0; i < len(b); i++ {
		switch {
		case bytes.HasPrefix(b[i:], []byte{1, 1, 1}):
			current, i = &one, i+2
		case bytes.HasPrefix(b[i:], []byte{2, 2, 2}):
			current, i = &two, i+2
		default:
			current.WriteByte(b[i])
			both.WriteByte(b[i])
		}
	}
	return both.String(), one.String(), two.String()
}

// maxCut is before which byte a cut stream ends.
const maxCut = 20 << 10

func (t *toolbox) commandLogs(w http.ResponseWriter, r *http.Request) {
	c := t.command(w, r)
	if c == nil {
		return
	}
	if r.URL.Query().Get("follow") != "true" {
		output, stdout, stderr := c.log.split()
		t.sandbox.server.answer(w, http.StatusOK, map[string]any{"output": output, "stdout": stdout, "stderr": stderr})
		return
	}
	cut := int64(-1)
	if faultOf(r.Context()) == CutStream {
		cut = rand.Int64N(maxCut)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	if c.log.follow(w, r, t.sandbox.server, cut) {
		reset(w)
	}
}

// follow sends the log as it grows, and reports whether it is to be cut.
func (l *log) follow(w http.ResponseWriter, r *http.Request, s *Server, cut int64) bool {
	cuts := s.cuts()
	buffer := make([]byte, 64<<10)
	for offset := int64(0); ; {
		l.mu.Lock()
		n, _ := l.file.ReadAt(buffer[:min(int64(len(buffer)), l.size-offset)], offset)
		ended, grown := l.over, l.grown
		l.mu.Unlock()
		if cut >= 0 && offset+int64(n) > cut {
			_, _ = w.Write(buffer[:cut-offset])
			_ = http.NewResponseController(w).Flush()
			return true
		}
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return false
			}
			_ = http.NewResponseController(w).Flush()
			offset += int64(n)
			continue
		}
		if ended {
			return false
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return false
		case <-cuts:
			return true
		case <-s.over:
			return false
		}
	}
}
