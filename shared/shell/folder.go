package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	folderPrefix = "berth-ssh-"
	// folderAge is how old a folder is that certainly has its lock, if it is used.
	folderAge = time.Minute
)

// folder is for the socket of one kept connection. Its lock, which ends with the
// process, tells that it is used.
type folder struct {
	path string
	lock *flock.Flock
}

// newFolder makes one in the folder of temporary files, and removes those that
// processes which were killed have left there.
func newFolder() (folder, error) {
	removeLeft(os.TempDir())
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return folder{}, fmt.Errorf("making a folder for a connection: %w", err)
	}
	f := folder{path, lockOf(path)}
	if _, err := f.lock.TryLock(); err != nil {
		return folder{}, errors.Join(fmt.Errorf("locking the folder of a connection: %w", err), f.remove())
	}
	return f, nil
}

func (f folder) remove() error {
	return errors.Join(f.lock.Close(), os.RemoveAll(f.path))
}

// removeLeft never fails: what cannot be removed now may be another time.
func removeLeft(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), folderPrefix) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !ownedByUs(info) || time.Since(info.ModTime()) < folderAge {
			continue
		}
		left := folder{path: filepath.Join(dir, entry.Name())}
		left.lock = lockOf(left.path)
		if held, err := left.lock.TryLock(); held && err == nil {
			_ = left.remove()
		}
	}
}

func lockOf(path string) *flock.Flock {
	return flock.New(filepath.Join(path, "lock"), flock.SetPermissions(0o600))
}
