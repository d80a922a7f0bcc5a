//go:build linux

package workspace

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// Workspace serves one folder. It is safe for concurrent use.
type Workspace struct {
	dir   string
	guard guard
}

// New serves dir, an absolute path. The folder is opened anew for each call, so
// it may be replaced by another.
func New(dir string) *Workspace {
	return &Workspace{dir: filepath.Clean(dir), guard: guard{seed: maphash.MakeSeed(), read: map[string]map[string]mark{}}}
}

// Dir is the folder that relative paths resolve in.
func (w *Workspace) Dir() string { return w.dir }

// place is a path inside the workspace without a link in it, so that each file
// has one; open keeps it inside even when links change meanwhile.
type place struct {
	root *os.Root
	rel  string
}

func (p place) close() { p.root.Close() }

// locate resolves path. A link at its end is followed when follow says so. A
// file that does not exist is located where it would be made.
func (w *Workspace) locate(path string, follow bool) (place, error) {
	rel, err := w.clean(path)
	if err != nil {
		return place{}, err
	}
	base, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		return place{}, pathError("the workspace", err)
	}
	real, err := resolve(filepath.Join(base, rel), follow)
	if err != nil {
		return place{}, pathError(path, err)
	}
	inside, ok := below(base, real)
	if !ok {
		return place{}, errEscapes
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return place{}, pathError("the workspace", err)
	}
	return place{root, inside}, nil
}

// clean makes path relative to the workspace, by its text.
func (w *Workspace) clean(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", berth.FieldErrorf(berth.CodeInvalid, "path", "holds a NUL byte")
	}
	if filepath.IsAbs(path) {
		if rel, ok := below(w.dir, filepath.Clean(path)); ok {
			return rel, nil
		}
		if base, err := filepath.EvalSymlinks(w.dir); err == nil {
			if rel, ok := below(base, filepath.Clean(path)); ok {
				return rel, nil
			}
		}
		return "", errEscapes
	}
	rel := filepath.Clean(path)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", errEscapes
	}
	return rel, nil
}

var errEscapes = berth.FieldErrorf(berth.CodeInvalid, "path", "leads out of the workspace")

// below returns path relative to dir when it is dir or lies in it.
func below(dir, path string) (rel string, ok bool) {
	switch {
	case path == dir:
		return ".", true
	case dir == "/":
		return strings.TrimPrefix(path, "/"), true
	}
	return strings.CutPrefix(path, dir+"/")
}

// resolve follows the links of an absolute path as far as it exists.
func resolve(path string, follow bool) (string, error) {
	if !follow {
		return resolveParent(path)
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", berth.FieldErrorf(berth.CodeInvalid, "path", "is a link to a file that does not exist")
	}
	return resolveParent(path)
}

func resolveParent(path string) (string, error) {
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	real, err := resolve(parent, true)
	return filepath.Join(real, filepath.Base(path)), err
}

// pathError gives the errors of the file system a code.
func pathError(path string, err error) error {
	var coded *berth.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	code, message := berth.CodeInternal, ""
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code, message = berth.CodeNotFound, "does not exist"
	case strings.HasSuffix(err.Error(), "path escapes from parent"):
		return errEscapes
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code, message = berth.CodeUnavailable, "no space is left on the device"
	case errors.Is(err, syscall.ENOTEMPTY):
		code, message = berth.CodeConflict, "is a folder that is not empty"
	case errors.Is(err, fs.ErrPermission):
		code, message = berth.CodeInvalid, "may not be accessed by the sandbox's user"
	case errors.Is(err, syscall.EISDIR):
		code, message = berth.CodeConflict, "is a folder"
	case errors.Is(err, syscall.ELOOP), strings.HasSuffix(err.Error(), "too many links"):
		code, message = berth.CodeInvalid, "is a circle of links"
	case errors.Is(err, syscall.ENAMETOOLONG):
		code, message = berth.CodeInvalid, "is too long"
	case errors.Is(err, syscall.EROFS):
		code, message = berth.CodeInvalid, "is on a read-only file system"
	default:
		return berth.Wrap(err, "accessing a file")
	}
	return &berth.Error{Code: code, Field: "path", Message: quote(path) + " " + message, Cause: err}
}

// quote cuts long paths.
func quote(path string) string {
	if len(path) > 200 {
		path = path[:100] + "…" + path[len(path)-90:]
	}
	return path
}

func infoOf(rel string, info fs.FileInfo) berth.FileInfo {
	kind := berth.FileOther
	switch {
	case info.Mode().IsRegular():
		kind = berth.FileRegular
	case info.IsDir():
		kind = berth.FileDirectory
	}
	return berth.FileInfo{
		Path: rel, Kind: kind, Size: info.Size(), Mode: uint32(info.Mode().Perm()), ModifiedAt: info.ModTime().UTC(),
	}
}
