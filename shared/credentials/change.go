package credentials

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

const (
	lockLimit = 10 * time.Second
	lockPoll  = 10 * time.Millisecond
)

// Change reads the file, lets change work on it and writes it back whole, for its
// owner alone. Of many that change it at once, none loses its change. When change
// fails nothing is written. Errors: those of Load and of change, unavailable.
func Change(ctx context.Context, path string, change func(*File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return unusable(path, err)
	}
	// A link, as people have who keep their settings elsewhere, stays one.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return unusable(path, err)
	}
	defer lock.Unlock()
	f, err := Load(path)
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return err
	}
	data, err := f.encode()
	if err != nil {
		return err
	}
	if err := privatefile.Write(path, data); err != nil {
		return unusable(path, err)
	}
	return nil
}

func unusable(path string, err error) error {
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: path + " cannot be written",
		Remediation: "make its folder a writable one of yours, or choose another with XDG_CONFIG_HOME", Cause: err,
	}
}
