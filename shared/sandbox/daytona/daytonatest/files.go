//go:build linux

package daytonatest

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// path resolves one of a request: relative ones in the daemon's directory.
func (t *toolbox) path(p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(t.sandbox.home(), p)
	}
	return filepath.Clean(p)
}

func (t *toolbox) failFile(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.fail(w, r, http.StatusNotFound, "FILE_NOT_FOUND", "file not found")
	case errors.Is(err, fs.ErrPermission):
		t.fail(w, r, http.StatusForbidden, "FILE_ACCESS_DENIED", "access denied")
	default:
		t.fail(w, r, http.StatusBadRequest, "BAD_REQUEST", err.Error())
	}
}

// bulkUpload takes pairs of a path and a file, in that order, as a stream.
func (t *toolbox) bulkUpload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		t.fail(w, r, http.StatusBadRequest, "BAD_REQUEST", err.Error())
		return
	}
	paths := map[string]string{}
	files := []any{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.fail(w, r, http.StatusBadRequest, "BAD_REQUEST", err.Error())
			return
		}
		index, field, _ := strings.Cut(part.FormName(), ".")
		if field == "path" {
			b, _ := io.ReadAll(part)
			paths[index] = string(b)
			continue
		}
		if paths[index] == "" {
			t.sandbox.server.answer(w, http.StatusBadRequest, map[string]any{"errors": []string{part.FormName() + " came before its path"}, "files": files})
			return
		}
		path := t.path(paths[index])
		var from io.Reader = part
		if t.sandbox.server.take(&t.sandbox.server.truncate) {
			from = io.LimitReader(part, truncated)
		}
		n, err := writeFile(path, from)
		if err != nil {
			t.sandbox.server.answer(w, http.StatusBadRequest, map[string]any{"errors": []string{err.Error()}, "files": files})
			return
		}
		files = append(files, map[string]any{"path": path, "bytes": n})
	}
	t.sandbox.server.answer(w, http.StatusOK, map[string]any{"files": files})
}

// truncated is how much of an upload that ends early arrives, in bytes.
const truncated = 1000

func writeFile(path string, r io.Reader) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(f, r)
}

func (t *toolbox) fileInfo(w http.ResponseWriter, r *http.Request) {
	path := t.path(r.URL.Query().Get("path"))
	info, err := os.Stat(path)
	if err != nil {
		t.failFile(w, r, err)
		return
	}
	t.sandbox.server.answer(w, http.StatusOK, map[string]any{
		"name": info.Name(), "size": info.Size(), "mode": info.Mode().String(), "modTime": info.ModTime().String(),
		"modifiedAt": info.ModTime().UTC().Format(time.RFC3339), "isDir": info.IsDir(), "owner": "daytona", "group": "daytona",
		"permissions": info.Mode().Perm().String(), "path": path,
	})
}

func (t *toolbox) download(w http.ResponseWriter, r *http.Request) {
	b, err := os.ReadFile(t.path(r.URL.Query().Get("path")))
	if err != nil {
		t.failFile(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(b)
}

func (t *toolbox) moveFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := os.Rename(t.path(q.Get("source")), t.path(q.Get("destination"))); err != nil {
		t.failFile(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (t *toolbox) deleteFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	path := t.path(q.Get("path"))
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.IsDir() && q.Get("recursive") != "true":
		t.fail(w, r, http.StatusBadRequest, "BAD_REQUEST", "cannot delete directory without recursive flag")
		return
	default:
		err = os.RemoveAll(path)
	}
	if err != nil {
		t.failFile(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
