package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// upload copies from this machine into the sandbox.
func (k *copier) upload(ctx context.Context, from, to string) error {
	if from == "-" {
		return k.uploadInput(ctx, to)
	}
	info, err := os.Stat(k.app.abs(from))
	if err != nil {
		return local(err, "copying "+from)
	}
	target, err := k.uploadTarget(ctx, from, to)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := k.needRecursive(from); err != nil {
			return err
		}
		return k.uploadFolder(ctx, from, target)
	}
	file, err := os.Open(k.app.abs(from))
	if err != nil {
		return local(err, "copying "+from)
	}
	defer file.Close()
	return k.uploadFile(ctx, file, target)
}

// uploadTarget puts the source's name behind a folder that exists.
func (k *copier) uploadTarget(ctx context.Context, from, to string) (string, error) {
	info, found, err := k.stat(ctx, to)
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(to, "/") && (!found || info.Kind != berth.FileDirectory) {
		return to, nil
	}
	name, err := k.app.baseName(from)
	return path.Join(to, name), err
}

// uploadFolder copies the files below a folder of this machine. All of them are listed
// before the first is copied: the target may lie in the folder, where sandboxes are
// folders of this machine. Links are followed while they stay inside of it.
func (k *copier) uploadFolder(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(k.app.abs(from))
	if err != nil {
		return local(err, "copying "+from)
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return local(err, "copying "+path.Join(from, name))
		}
		if !entry.IsDir() {
			names = append(names, name)
		}
		return nil
	})
	for i := 0; i < len(names) && err == nil; i++ {
		err = k.uploadBelow(ctx, root, from, names[i], path.Join(to, names[i]))
	}
	return err
}

// uploadBelow copies a file of the folder from.
func (k *copier) uploadBelow(ctx context.Context, root *os.Root, from, name, to string) error {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		k.skip(path.Join(from, name), "a link that leads nowhere or out of the folder")
		return nil
	case !info.Mode().IsRegular():
		k.skip(path.Join(from, name), "neither a file nor a folder of its own")
		return nil
	}
	file, err := root.Open(name)
	if err != nil {
		return local(err, "copying "+path.Join(from, name))
	}
	defer file.Close()
	return k.uploadFile(ctx, file, to)
}

// uploadFile copies one open file.
func (k *copier) uploadFile(ctx context.Context, file *os.File, to string) error {
	info, err := file.Stat()
	if err != nil {
		return local(err, "copying "+file.Name())
	}
	if !info.Mode().IsRegular() {
		return berth.Errorf(berth.CodeInvalid, "%s is no regular file", file.Name())
	}
	err = k.client.Upload(ctx, k.file(to), file, uint32(info.Mode().Perm()))
	if err != nil {
		return fmt.Errorf("copying to %s: %w", to, err)
	}
	return nil
}

// uploadInput copies standard input, by way of a file: its size and hash go first.
func (k *copier) uploadInput(ctx context.Context, to string) error {
	file, err := os.CreateTemp(k.app.env["TMPDIR"], "berth-cp-*")
	if err != nil {
		return local(err, "copying standard input")
	}
	// At once, where a file can be without a name: a program that is killed leaves none.
	if os.Remove(file.Name()) != nil {
		defer os.Remove(file.Name())
	}
	defer file.Close()
	copied := make(chan error, 1)
	// Not waited for after a signal: a read of standard input cannot be called back.
	go func() { _, err := io.Copy(file, k.app.stdin); copied <- err }()
	select {
	case err = <-copied:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err = errors.Join(err, file.Chmod(0o644)); err != nil {
		return local(err, "copying standard input")
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return local(err, "copying standard input")
	}
	return k.uploadFile(ctx, file, to)
}
