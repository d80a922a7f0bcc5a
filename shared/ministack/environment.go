package ministack

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// requirements pins the emulator and all that it needs.
//
//go:embed requirements.txt
var requirements []byte

// installWait bounds a first installation, and the wait for another process
// that is at it.
const installWait = 10 * time.Minute

// probe prints the version and fails where Python is too old, or cannot make a
// virtual environment (Debian packages that apart).
const probe = `import sys, venv, ensurepip
assert sys.version_info >= (3, 10), "Python %d.%d is older than 3.10" % sys.version_info[:2]
print("%d.%d" % sys.version_info[:2])`

// environment gives the Python of a virtual environment with the emulator,
// which it makes when it is not in the cache yet.
func environment(ctx context.Context) (string, error) {
	python, version, err := findPython(ctx)
	if err != nil {
		return "", err
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(python+"\n"+version+"\n"), requirements...))
	folder := filepath.Join(cache, "ministack-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	// `go test` runs the tests of several packages at once.
	lock := flock.New(folder + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another installation of ministack: %w", err)
	}
	err = install(ctx, python, folder)
	return filepath.Join(folder, "bin", "python"), errors.Join(err, lock.Close())
}

// install makes the environment in folder. The mark comes last: without it the
// folder is the rest of an installation that did not end.
func install(ctx context.Context, python, folder string) error {
	mark := filepath.Join(folder, "installed")
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := run(ctx, python, "-m", "venv", folder); err != nil {
		return fmt.Errorf("making a virtual environment: %w", err)
	}
	list := filepath.Join(folder, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return err
	}
	venvPython := filepath.Join(folder, "bin", "python")
	if err := run(ctx, venvPython, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", list); err != nil {
		return fmt.Errorf("installing ministack: %w", err)
	}
	return os.WriteFile(mark, nil, 0o644)
}

func findPython(ctx context.Context) (path, version string, err error) {
	var errs []error
	for _, name := range []string{"python3", "python3.13", "python3.12", "python3.11", "python3.10"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-c", probe).Output()
		if err == nil {
			return path, string(bytes.TrimSpace(out)), nil
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			err = errors.New(lines[len(lines)-1])
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	if len(errs) == 0 {
		return "", "", errors.New("there is no python3 (3.10 or newer is needed)")
	}
	return "", "", errors.Join(errs...)
}

// cacheFolder is BERTH_CACHE, or .cache at the root of the repository.
func cacheFolder() (string, error) {
	if folder := os.Getenv("BERTH_CACHE"); folder != "" {
		return filepath.Abs(folder)
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/berth-dev/berth\n")) {
			return filepath.Join(folder, ".cache"), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("not below the root of the repository; set BERTH_CACHE to a folder")
		}
		folder = parent
	}
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = stopWait
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out[max(0, len(out)-1000):]))
	}
	return nil
}
