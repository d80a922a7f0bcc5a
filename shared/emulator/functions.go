package emulator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// BuildFunctions gives the folder with KIND/NAME.zip of berth's functions, for
// this machine's processor. They are built in the cache folder, where only what
// changed is built again.
func BuildFunctions(ctx context.Context) (folder string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, deployWait)
	defer cancel()
	base := filepath.Join(cache, "functions-"+runtime.GOARCH)
	programs := filepath.Join(base, "programs")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(base + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another build of the functions: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for _, kind := range []string{"api", "runner", "events"} {
		err := inRoot(ctx, root, "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
			"-o", filepath.Join(programs, kind)+string(filepath.Separator), "./functions/"+kind+"/...")
		if err != nil {
			return "", fmt.Errorf("building the functions of %s: %w", kind, err)
		}
	}
	newest, err := newestOf(programs)
	if err != nil {
		return "", err
	}
	// One folder a build: a deployment may still read the one before.
	folder = filepath.Join(base, fmt.Sprintf("archives-%d", newest.UnixNano()))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	made := folder + ".new"
	if err := os.RemoveAll(made); err != nil {
		return "", err
	}
	if err := inRoot(ctx, root, "run", "./scripts/packfunctions", programs, made); err != nil {
		return "", fmt.Errorf("packing the functions: %w", err)
	}
	return folder, errors.Join(removeOlder(base, time.Hour), os.Rename(made, folder))
}

func inRoot(ctx context.Context, root string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.WaitDelay = root, 5*time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if arguments[0] == "build" {
		cmd.Env = append(cmd.Env, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out[max(0, len(out)-2000):])
	}
	return nil
}

// newestOf is when the newest file under a folder was written.
func newestOf(folder string) (newest time.Time, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return err
	})
	return newest, err
}

// removeOlder removes archives that no deployment reads any more.
func removeOlder(base string, age time.Duration) error {
	all, err := filepath.Glob(filepath.Join(base, "archives-*"))
	if err != nil {
		return err
	}
	for _, each := range all {
		if info, err := os.Stat(each); err == nil && time.Since(info.ModTime()) > age && filepath.Ext(each) != ".new" {
			if err := os.RemoveAll(each); err != nil {
				return err
			}
		}
	}
	return nil
}
