package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// maxDepth is how deep folders of a sandbox may lie in each other.
const maxDepth = 100

// download copies from the sandbox to this machine.
func (k *copier) download(ctx context.Context, from, to string) error {
	info, found, err := k.stat(ctx, from)
	if err == nil && !found {
		err = withRemedy(berth.Errorf(berth.CodeNotFound, "%s is not in the sandbox", from), berth.CodeNotFound, "check the path: it begins at the workspace")
	}
	if err != nil {
		return err
	}
	folder := info.Kind == berth.FileDirectory
	if folder {
		if err := k.needRecursive(from); err != nil {
			return err
		}
	}
	if to == "-" {
		_, err := k.client.Download(ctx, k.file(from), k.app.stdout)
		return err
	}
	target, err := k.downloadTarget(from, to, info)
	if err != nil {
		return err
	}
	if folder {
		return k.downloadFolder(ctx, from, target)
	}
	root, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return local(err, "copying to "+to)
	}
	defer root.Close()
	return k.downloadFile(ctx, from, root, filepath.Base(target), info.Mode)
}

// downloadTarget puts the source's name behind a folder that exists.
func (k *copier) downloadTarget(from, to string, info berth.FileInfo) (string, error) {
	target := k.app.abs(to)
	there, err := os.Stat(target)
	slash := strings.HasSuffix(to, "/") || strings.HasSuffix(to, string(filepath.Separator))
	switch {
	case err == nil && there.IsDir():
		name := path.Base(path.Clean("/" + from))
		if name == "/" || !filepath.IsLocal(name) {
			// The workspace itself: its content goes into the folder.
			return target, nil
		}
		return filepath.Join(target, name), nil
	case err == nil && info.Kind == berth.FileDirectory:
		return "", berth.Errorf(berth.CodeConflict, "%s is there and no folder", to)
	case slash && info.Kind != berth.FileDirectory:
		return "", berth.Errorf(berth.CodeNotFound, "the folder %s is not there", to)
	}
	return target, nil
}

// downloadFolder copies a folder of the sandbox. All of it is listed before anything
// is written: the target may lie in it, where sandboxes are folders of this machine.
// Names come from code that is not trusted, so that everything is written through a
// root that none can leave.
func (k *copier) downloadFolder(ctx context.Context, from, to string) error {
	all, err := k.list(ctx, nil, from, ".", 0)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return local(err, "copying to "+to)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return local(err, "copying to "+to)
	}
	defer root.Close()
	for _, one := range all {
		if one.folder {
			err = local(root.MkdirAll(one.to, 0o755), "copying "+one.from)
		} else {
			err = k.downloadFile(ctx, one.from, root, one.to, one.mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listed is a file or a folder that is to be copied to a path below the target.
type listed struct {
	from, to string
	folder   bool
	mode     uint32
}

// list adds what is in a folder of the sandbox to all.
func (k *copier) list(ctx context.Context, all []listed, from, to string, depth int) ([]listed, error) {
	if depth > maxDepth {
		return nil, berth.Errorf(berth.CodeTooLarge, "%s lies more than %d folders deep", from, maxDepth)
	}
	data, err := k.client.ReadFile(ctx, k.file(from), 0, 1)
	if err != nil {
		return nil, fmt.Errorf("copying %s: %w", from, err)
	}
	for _, entry := range data.Entries {
		name := path.Base(entry.Path)
		one := listed{from: path.Join(from, name), to: filepath.Join(to, name), mode: entry.Mode}
		switch {
		case !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, `/\`):
			k.skip(one.from, "a name that is none on this machine")
		case entry.Kind == berth.FileRegular:
			all = append(all, one)
		case entry.Kind == berth.FileDirectory:
			one.folder = true
			if all, err = k.list(ctx, append(all, one), one.from, one.to, depth+1); err != nil {
				return nil, err
			}
		default:
			k.skip(one.from, "a link, or neither a file nor a folder")
		}
	}
	return all, nil
}

// downloadFile writes beside the file and renames, so that one that is there is
// replaced as a whole or not at all.
func (k *copier) downloadFile(ctx context.Context, from string, root *os.Root, to string, mode uint32) error {
	if info, err := root.Stat(to); err == nil && info.IsDir() {
		return berth.Errorf(berth.CodeConflict, "%s is there and a folder", to)
	}
	temporary := filepath.Join(filepath.Dir(to), fmt.Sprintf(".berth-cp-%d", os.Getpid()))
	file, err := root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return local(err, "copying "+from)
	}
	defer func() { _ = root.Remove(temporary) }() // gone after the rename
	_, err = k.client.Download(ctx, k.file(from), io.Writer(file))
	if err == nil {
		err = local(file.Chmod(os.FileMode(mode).Perm()), "copying "+from)
	}
	if e := file.Close(); err == nil {
		err = local(e, "copying "+from)
	}
	if err == nil {
		err = local(root.Rename(temporary, to), "copying "+from)
	}
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}
