package dir

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// DeletePrefix removes every blob whose key begins with prefix, which need not
// end at a slash. Nothing to remove is no error. Errors: invalid, unavailable.
func (b *Blobs) DeletePrefix(ctx context.Context, prefix string) error {
	const doing = "removing blobs"
	if err := b.check(ctx, blob.CheckPrefix(prefix)); err != nil {
		return berth.Wrap(err, doing)
	}
	folder := folderOf(prefix)
	begin := prefix[strings.LastIndexByte(prefix, '/')+1:]
	names, err := b.names(folder)
	if err != nil {
		return b.explain(doing, err)
	}
	for _, name := range names {
		// A file's name is its part and a suffix that no part contains, so files
		// and folders both begin as their part does, and temporary as none.
		if !strings.HasPrefix(name, begin) {
			continue
		}
		if err := b.remove(filepath.Join(folder, name)); err != nil {
			return b.explain(doing, err)
		}
		if err := ctx.Err(); err != nil {
			return berth.Wrap(b.check(ctx, nil), doing)
		}
	}
	b.prune(folder)
	return nil
}

func (b *Blobs) remove(path string) error {
	b.folders.Lock()
	defer b.folders.Unlock()
	return b.root.RemoveAll(path)
}

func (b *Blobs) names(folder string) ([]string, error) {
	f, err := b.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// prune removes the folders that have become empty. One that has not stays, by
// the error of its removal.
func (b *Blobs) prune(folder string) {
	b.folders.Lock()
	defer b.folders.Unlock()
	for folder != "." && b.root.Remove(folder) == nil {
		folder = filepath.Dir(folder)
	}
}
