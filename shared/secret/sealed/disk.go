package sealed

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/gofrs/flock"
)

const (
	lockPoll = 2 * time.Millisecond
	// lockWait is much longer than any change takes.
	lockWait = 10 * time.Second
)

// underLock runs f while no other process does for the same path. The lock is a
// file beside it, which stays: removing it would race.
func underLock(ctx context.Context, path string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		if ctx.Err() == nil {
			return unusable("locking the secrets", path, err)
		}
		e := berth.Errorf(berth.CodeUnavailable, "%s is locked by another process", path)
		e.Remediation = "Stop the other berth, or try again in a moment."
		e.Cause = err
		return e
	}
	return errors.Join(f(), lock.Close())
}

// replaceFile writes a file whole or not at all, with mode 0600, and describes
// it. It is on the disk when this returns.
func replaceFile(path string, data []byte) (fs.FileInfo, error) {
	temporary := path + "." + rand.Text()[:8] + ".tmp"
	info, err := writeFile(temporary, data)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return nil, err
	}
	return info, syncFolder(filepath.Dir(path))
}

func writeFile(path string, data []byte) (fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	return info, errors.Join(err, f.Close())
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// unusable gives an error of the file system the code and the words for people.
func unusable(doing, path string, err error) error {
	e := berth.Errorf(berth.CodeUnavailable, "%s cannot be used", path)
	e.Cause = err
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Message, e.Remediation = "the disk of "+path+" is full", "Free some space; nothing was changed."
	case errors.Is(err, fs.ErrPermission):
		e.Remediation = "Give the user that runs berth the right to read and write it and its folder."
	default:
		e.Remediation = "Check that its folder is there, on a disk that is mounted and writable."
	}
	return berth.Wrap(e, doing)
}
