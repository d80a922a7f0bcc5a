//go:build linux

package workspace

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// WriteSpec says which file is replaced.
type WriteSpec struct {
	Path string
	Size int64 // bytes that will come
	Mode uint32
	// Guard is who must have read the file; empty is no check.
	Guard string
}

// Upload is a write in progress: a file beside the target, which takes its place
// at the end. It is not safe for concurrent use.
type Upload struct {
	w       *Workspace
	spec    WriteSpec
	place   place
	temp    string
	file    *os.File
	written int64
	hash    *maphash.Hash
}

// Create begins to write a file. Parent folders are made. A mode of 0 keeps that
// of the file that is there, or is 0644. Errors: invalid, conflict, unavailable
// on a full disk.
func (w *Workspace) Create(spec WriteSpec) (*Upload, error) {
	if spec.Size < 0 {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	p, err := w.locate(spec.Path, true)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, errNoFolder(spec.Path)
	}
	if err != nil {
		return nil, err
	}
	u := &Upload{w: w, spec: spec, place: p, hash: w.guard.hash()}
	if err := u.begin(); err != nil {
		p.close()
		return nil, err
	}
	return u, nil
}

func errNoFolder(path string) error {
	return berth.FieldErrorf(berth.CodeConflict, "path", "a parent of %s is not a folder", quote(path))
}

func (u *Upload) begin() error {
	p := u.place
	info, err := p.root.Lstat(p.rel)
	switch {
	case err == nil && info.IsDir():
		return berth.FieldErrorf(berth.CodeConflict, "path", "%s is a folder", quote(p.rel))
	case err == nil && !info.Mode().IsRegular():
		return berth.FieldErrorf(berth.CodeConflict, "path", "%s is not a regular file", quote(p.rel))
	case err == nil && u.spec.Mode == 0:
		u.spec.Mode = uint32(info.Mode().Perm())
	case errors.Is(err, syscall.ENOTDIR):
		return errNoFolder(p.rel)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return pathError(u.spec.Path, err)
	}
	if u.spec.Mode == 0 {
		u.spec.Mode = 0o644
	}
	if err := u.w.guard.check(u.spec.Guard, p); err != nil {
		return err
	}
	parent := path.Dir(p.rel)
	if err := p.root.MkdirAll(parent, 0o755); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			return errNoFolder(p.rel)
		}
		return pathError(u.spec.Path, err)
	}
	u.temp = join(parent, ".berth-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	u.file, err = p.root.OpenFile(u.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return pathError(u.spec.Path, err)
	}
	if info != nil {
		// The file keeps its owner, where the guest may set it.
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = u.file.Chown(int(stat.Uid), int(stat.Gid))
		}
	}
	return nil
}

// Write appends data. Errors: invalid when more comes than was said.
func (u *Upload) Write(data []byte) error {
	if u.written+int64(len(data)) > u.spec.Size {
		return berth.FieldErrorf(berth.CodeInvalid, "size", "is %d and more bytes came", u.spec.Size)
	}
	if _, err := u.file.Write(data); err != nil {
		return pathError(u.spec.Path, err)
	}
	u.hash.Write(data)
	u.written += int64(len(data))
	return nil
}

// Commit puts the file in its place. Errors: invalid when bytes are missing,
// conflict of the guard.
func (u *Upload) Commit() (berth.FileInfo, error) {
	defer u.Abort()
	if u.written != u.spec.Size {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "is %d and %d bytes came", u.spec.Size, u.written)
	}
	if err := u.file.Chmod(fs.FileMode(u.spec.Mode) & fs.ModePerm); err != nil {
		return berth.FileInfo{}, pathError(u.spec.Path, err)
	}
	info, err := u.file.Stat()
	if err != nil {
		return berth.FileInfo{}, pathError(u.spec.Path, err)
	}
	if err := u.file.Close(); err != nil {
		return berth.FileInfo{}, pathError(u.spec.Path, err)
	}
	if err := u.w.guard.check(u.spec.Guard, u.place); err != nil {
		return berth.FileInfo{}, err
	}
	if err := u.place.root.Rename(u.temp, u.place.rel); err != nil {
		return berth.FileInfo{}, pathError(u.spec.Path, err)
	}
	u.temp = ""
	u.w.guard.mark(u.spec.Guard, u.place.rel, sum(u.hash.Sum64()), fileState{})
	return infoOf(u.place.rel, info), nil
}

// Abort leaves the target as it was. It does nothing after Commit.
func (u *Upload) Abort() {
	u.file.Close()
	if u.temp != "" {
		_ = u.place.root.Remove(u.temp)
		u.temp = ""
	}
	u.place.close()
}

// Delete removes a file, a link or an empty folder. Errors: not_found, conflict
// for a folder that is not empty and of the guard, invalid.
func (w *Workspace) Delete(path, guard string) error {
	p, err := w.locate(path, false)
	if err != nil {
		return err
	}
	defer p.close()
	if p.rel == "." {
		return berth.FieldErrorf(berth.CodeInvalid, "path", "is the workspace itself")
	}
	info, err := p.root.Lstat(p.rel)
	if err != nil {
		return pathError(path, err)
	}
	if guard != "" && !info.IsDir() {
		if err := w.checkDelete(path, guard); err != nil {
			return err
		}
	}
	return pathError(path, p.root.Remove(p.rel))
}

// checkDelete asks the guard about the file that path leads to: what a name read
// through a link is the file behind it.
func (w *Workspace) checkDelete(path, guard string) error {
	p, err := w.locate(path, true)
	if err != nil {
		return err
	}
	defer p.close()
	return w.guard.check(guard, p)
}
