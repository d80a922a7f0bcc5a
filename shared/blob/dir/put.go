package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// Put stores the size bytes that r gives. It returns invalid, and changes
// nothing, when r gives more or fewer; an error of r is returned as it is.
// Other errors: invalid for the key, unavailable.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	const doing = "writing a blob"
	if err := b.check(ctx, blob.CheckKey(key)); err != nil {
		return berth.Wrap(err, doing)
	}
	if size < 0 {
		return berth.Wrap(berth.Errorf(berth.CodeInvalid, "the size of a blob may not be negative"), doing)
	}
	name := filepath.Join(temporary, rand.Text())
	err := b.fill(ctx, name, r, size)
	if err == nil {
		err = b.place(name, key)
	}
	if err != nil {
		// Gone already if the rename was done.
		_ = b.root.Remove(name)
		return err
	}
	return nil
}

// fill writes a temporary file to the disk.
func (b *Blobs) fill(ctx context.Context, name string, r io.Reader, size int64) error {
	const doing = "writing a blob"
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = b.takenAway(err)
		}
		return b.explain(doing, err)
	}
	source := &source{r: r, caller: ctx.Err}
	// One byte more than declared shows a reader that has too many.
	n, err := io.Copy(f, io.LimitReader(source, size+1))
	switch {
	case source.err != nil:
		err = berth.Wrap(source.err, "reading what a blob is made of")
	case err != nil:
		err = b.explain(doing, err)
	case n > size:
		err = berth.Wrap(berth.Errorf(berth.CodeInvalid, "the blob is longer than the %d bytes announced", size), doing)
	case n < size:
		err = berth.Wrap(berth.Errorf(berth.CodeInvalid, "the blob has %d bytes, not the %d announced", n, size), doing)
	default:
		if err = f.Sync(); err != nil {
			err = b.explain(doing, err)
		}
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = b.explain(doing, closeErr)
	}
	return err
}

// place renames the temporary file to the key's.
func (b *Blobs) place(name, key string) error {
	b.folders.RLock()
	defer b.folders.RUnlock()
	err := b.makeFolders(folderOf(key))
	if err == nil {
		err = b.root.Rename(name, fileOf(key))
	}
	if err == nil {
		err = b.sync(folderOf(key))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = b.takenAway(err)
	}
	if err != nil {
		return b.explain("writing a blob", err)
	}
	return nil
}

// takenAway tells of a folder that another program removed: not the blob is
// missing.
func (b *Blobs) takenAway(cause error) error {
	return &berth.Error{Code: berth.CodeUnavailable, Message: "the folder of blobs " + b.path + " was taken away", Cause: cause}
}

func (b *Blobs) makeFolders(folder string) error {
	if folder == "." {
		return nil
	}
	if _, err := b.root.Stat(folder); err == nil {
		return nil
	}
	made := "."
	for part := range strings.SplitSeq(folder, string(filepath.Separator)) {
		parent := made
		made = filepath.Join(made, part)
		switch err := b.root.Mkdir(made, folderMode); {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			return err
		default:
			if err := b.sync(parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// sync writes a folder's list of names to the disk.
func (b *Blobs) sync(folder string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call
	}
	f, err := b.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// source tells the reader's errors from the file's, and ends with the context.
type source struct {
	r      io.Reader
	caller func() error // why the caller waits no longer, if so
	err    error
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.caller(); err != nil {
		s.err = &berth.Error{Code: berth.CodeUnavailable, Message: "the caller did not wait for the blob", Cause: err}
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
