//go:build linux

package spritestest

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// wakeOrHang is what calls about files do to a sprite that sleeps: they wake it,
// unless the server is to hang; then only a command does.
func (s *Server) wakeOrHang(r *http.Request, sprite *Sprite) bool {
	s.mu.Lock()
	hang := s.hangCold
	s.mu.Unlock()
	for hang && sprite.Status() == "cold" {
		select {
		case <-r.Context().Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	sprite.wake()
	return true
}

// path is where a file of the sprite is; false when it was answered that it is not
// the sprite's.
func (s *Sprite) path(w http.ResponseWriter, r *http.Request) (string, bool) {
	path := r.URL.Query().Get("path")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.URL.Query().Get("workingDir"), path)
	}
	path = filepath.Clean(path)
	if !strings.HasPrefix(path, s.Root+"/") {
		fail(w, http.StatusForbidden, "EACCES", path)
		return "", false
	}
	return path, true
}

func fail(w http.ResponseWriter, status int, code, path string) {
	reply(w, status, map[string]string{"error": "the file cannot be used", "code": code, "path": path})
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	if !s.wakeOrHang(r, sprite) {
		return
	}
	path, ok := sprite.path(w, r)
	if !ok {
		return
	}
	mode, err := strconv.ParseUint(r.URL.Query().Get("mode"), 8, 32)
	if err != nil {
		mode = 0o644
	}
	if r.URL.Query().Get("mkdirParents") == "true" {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = writeFile(path, r.Body, fs.FileMode(mode))
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, "EIO", path)
		return
	}
	reply(w, http.StatusOK, map[string]string{"path": path})
}

func writeFile(path string, r io.Reader, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	if !s.wakeOrHang(r, sprite) {
		return
	}
	path, ok := sprite.path(w, r)
	if !ok {
		return
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fail(w, http.StatusNotFound, "ENOENT", path)
		return
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, "EIO", path)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
}
