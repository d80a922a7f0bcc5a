//go:build linux

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sort"
)

var errEnough = errors.New("enough")

// walk calls visit for all that is below rel but folders, in the order of whole
// paths. Links are visited, not followed. Folders that cannot be read are passed
// over, as are those that visitDir refuses.
func walk(ctx context.Context, root *os.Root, rel string, visitDir func(rel string) bool, visit func(rel string, entry fs.DirEntry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := readDir(root, rel)
	if err != nil {
		return nil
	}
	sort.Slice(entries, func(i, j int) bool { return sortName(entries[i]) < sortName(entries[j]) })
	for _, entry := range entries {
		path := join(rel, entry.Name())
		if !entry.IsDir() {
			err = visit(path, entry)
		} else if visitDir(path) {
			err = walk(ctx, root, path, visitDir, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sortName makes the order of a folder's entries the order of the paths below
// it: "a/b" comes after "a.c".
func sortName(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}
