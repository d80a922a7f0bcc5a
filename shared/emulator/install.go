package emulator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/berth-dev/berth/localstack"
)

// installWait bounds a first installation, and the wait for another process
// that is at it.
const installWait = 15 * time.Minute

// installer makes the virtual environments of the emulators in the cache folder.
type installer struct {
	cache    string
	progress func(string)
}

// ministack gives the Python of an environment with ministack.
func (i installer) ministack(ctx context.Context) (string, error) {
	folder, err := i.environment(ctx, "ministack", ministackPythons, localstack.Ministack)
	return pythonOf(folder), err
}

// localStack gives the Python of an environment with LocalStack, and the folder
// of our plugin, to be put before Python's own.
func (i installer) localStack(ctx context.Context) (python, plugin string, err error) {
	folder, err := i.environment(ctx, "localstack", localStackPythons, localstack.Requirements)
	if err != nil {
		return "", "", err
	}
	plugin, err = i.plugin(ctx)
	return pythonOf(folder), plugin, err
}

func pythonOf(folder string) string { return filepath.Join(folder, "bin", "python") }

// environment makes a virtual environment that has the requirements, when it is
// not in the cache yet.
func (i installer) environment(ctx context.Context, name string, of pythons, requirements []byte) (string, error) {
	python, version, err := of.find(ctx)
	if err != nil {
		return "", err
	}
	folder := i.folder(name, []byte(python+"\n"+version+"\n"), requirements)
	return folder, i.once(ctx, name, folder, func(ctx context.Context) error {
		i.progress(fmt.Sprintf("installing %s for %s, which takes a while, once", name, version))
		if err := run(ctx, python, "-m", "venv", folder); err != nil {
			return fmt.Errorf("making a virtual environment: %w", err)
		}
		list := filepath.Join(folder, "requirements.txt")
		if err := os.WriteFile(list, requirements, 0o644); err != nil {
			return err
		}
		return pip(ctx, folder, "--require-hashes", "--requirement", list)
	})
}

// plugin puts ours into a folder for Python's path: it needs no building.
func (i installer) plugin(ctx context.Context) (string, error) {
	var source bytes.Buffer
	err := fs.WalkDir(localstack.Plugin, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := localstack.Plugin.ReadFile(name)
		fmt.Fprintf(&source, "%s %d\n%s", name, len(content), content)
		return err
	})
	if err != nil {
		return "", err
	}
	folder := i.folder("localstack-plugin", source.Bytes())
	return folder, i.once(ctx, "the plugin", folder, func(context.Context) error {
		return os.CopyFS(folder, localstack.Plugin)
	})
}

func (i installer) folder(name string, parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(part)
	}
	return filepath.Join(i.cache, name+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
}

// once runs make for a folder that is not there. A mark beside the folder comes
// last: without it the folder is the rest of an installation that did not end.
func (i installer) once(ctx context.Context, name, folder string, make func(context.Context) error) (err error) {
	if err := os.MkdirAll(i.cache, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	// `go test` runs the tests of several packages at once.
	lock := flock.New(folder + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another installation of %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	mark := folder + ".installed"
	if _, err := os.Stat(mark); err == nil {
		if _, err := os.Stat(folder); err == nil {
			return nil
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := make(ctx); err != nil {
		return fmt.Errorf("installing %s: %w", name, err)
	}
	return os.WriteFile(mark, nil, 0o644)
}

func pip(ctx context.Context, environment string, arguments ...string) error {
	return run(ctx, pythonOf(environment), append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, arguments...)...)
}

func run(ctx context.Context, name string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out[max(0, len(out)-1000):]))
	}
	return nil
}
