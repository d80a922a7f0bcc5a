// Package dir keeps blobs as files in a folder.
//
// A blob is written to a temporary file, synced, and renamed into place, so
// that it is whole or not there, after a kill and after a power cut. A part of
// a key is a folder; the last one is a file whose name has a tilde behind it,
// so that the blobs "a" and "a/b" do not get in each other's way.
package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// Blobs is a berth.Blobs in a folder, which belongs to one process at a time.
// No key and no link leads out of the folder.
type Blobs struct {
	path string
	root *os.Root
	// folders is shared by those that put files into folders and held alone to
	// remove some, so that none is removed between its making and its first file.
	folders sync.RWMutex
}

var _ berth.Blobs = (*Blobs)(nil)

const (
	// temporary is a folder that no key can name.
	temporary = "~tmp"
	suffix    = "~"

	folderMode = 0o700
	fileMode   = 0o600
)

// Open uses the folder at path, which it makes when there is none, with mode
// 0700, and removes what writes that never ended have left. The caller closes
// the blobs. Errors: unavailable.
func Open(path string) (*Blobs, error) {
	b := &Blobs{path: path}
	if err := os.MkdirAll(path, folderMode); err != nil {
		return nil, b.explain("making the folder of blobs", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, b.explain("opening the folder of blobs", err)
	}
	b.root = root
	err = root.RemoveAll(temporary)
	if err == nil {
		err = root.Mkdir(temporary, folderMode)
	}
	if err != nil {
		return nil, errors.Join(b.explain("opening the folder of blobs", err), root.Close())
	}
	return b, nil
}

// Close releases the folder. No other call may be under way.
func (b *Blobs) Close() error { return b.root.Close() }

// Size returns the blob's length in bytes. Errors: not_found, invalid,
// unavailable.
func (b *Blobs) Size(ctx context.Context, key string) (int64, error) {
	const doing = "looking at a blob"
	if err := b.check(ctx, blob.CheckKey(key)); err != nil {
		return 0, berth.Wrap(err, doing)
	}
	info, err := b.root.Stat(fileOf(key))
	if err != nil {
		return 0, b.explain(doing, err)
	}
	return info.Size(), nil
}

// Open reads length bytes from offset, fewer when the blob ends before; length
// < 0 reads to the end. At and beyond the end there is nothing to read, which
// is no error. Errors: not_found, invalid, unavailable.
func (b *Blobs) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	const doing = "reading a blob"
	if err := b.check(ctx, blob.CheckKey(key)); err != nil {
		return nil, berth.Wrap(err, doing)
	}
	if offset < 0 {
		return nil, berth.Wrap(berth.Errorf(berth.CodeInvalid, "the offset in a blob may not be negative"), doing)
	}
	f, err := b.root.Open(fileOf(key))
	if err != nil {
		return nil, b.explain(doing, err)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(b.explain(doing, err), f.Close())
	}
	if length < 0 {
		return f, nil
	}
	return part{io.LimitReader(f, length), f}, nil
}

// part is a range of a file.
type part struct {
	io.Reader
	io.Closer
}

// check adds the caller's end to the fault of an argument.
func (b *Blobs) check(ctx context.Context, fault error) error {
	if fault != nil {
		return fault
	}
	if err := ctx.Err(); err != nil {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "the caller did not wait for the blob", Cause: err}
	}
	return nil
}

// explain gives err the code and the words for people; errors with a code pass.
func (b *Blobs) explain(doing string, err error) error {
	var coded *berth.Error
	if errors.As(err, &coded) {
		return berth.Wrap(err, doing)
	}
	e := berth.Errorf(berth.CodeUnavailable, "the folder of blobs %s cannot be used", b.path)
	e.Cause = err
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code, e.Message = berth.CodeNotFound, "there is no such blob"
	case errors.Is(err, syscall.ENOSPC):
		e.Message = "the disk of the folder of blobs " + b.path + " is full"
		e.Remediation = "Free some space; nothing was changed."
	case errors.Is(err, fs.ErrPermission):
		e.Remediation = "Give the user that runs berth the right to write it."
	default:
		e.Remediation = "Check that it is a folder, on a disk that is mounted and writable."
	}
	return berth.Wrap(e, doing)
}

// fileOf is the path of a blob's file below the root.
func fileOf(key string) string { return filepath.FromSlash(key) + suffix }

// folderOf is the path of the folder that the key's last part is in.
func folderOf(key string) string {
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		return filepath.FromSlash(key[:i])
	}
	return "."
}
