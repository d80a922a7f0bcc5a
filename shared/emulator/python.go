package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pythons is a range of releases of Python 3.
type pythons struct{ least, most int }

// What the emulators run on. LocalStack's release was tried on 3.13 alone, and
// does not run on 3.11.
var (
	localStackPythons = pythons{13, 13}
	ministackPythons  = pythons{10, 13}
)

func (p pythons) String() string {
	if p.least == p.most {
		return fmt.Sprintf("3.%d", p.least)
	}
	return fmt.Sprintf("3.%d to 3.%d", p.least, p.most)
}

// probe prints the version and fails where Python is of another release, or
// cannot make a virtual environment (Debian packages that apart).
const probe = `import sys, venv, ensurepip
least, most = int(sys.argv[1]), int(sys.argv[2])
name = "Python %d.%d" % sys.version_info[:2]
assert sys.version_info[0] == 3 and least <= sys.version_info[1] <= most, name + " is not 3.%d to 3.%d" % (least, most)
print(name)`

// find gives a Python of one of the releases: of those on the PATH, and of those
// that pyenv has installed.
func (p pythons) find(ctx context.Context) (path, version string, err error) {
	var errs []error
	for _, name := range p.candidates() {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-c", probe, fmt.Sprint(p.least), fmt.Sprint(p.most)).Output()
		if err == nil {
			return path, string(bytes.TrimSpace(out)), nil
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			err = errors.New(strings.TrimPrefix(lines[len(lines)-1], "AssertionError: "))
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return "", "", errors.Join(append([]error{fmt.Errorf("there is no python3 of the releases %s", p)}, errs...)...)
}

func (p pythons) candidates() []string {
	names := []string{"python3"}
	for minor := p.most; minor >= p.least; minor-- {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	root := os.Getenv("PYENV_ROOT")
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return names
		}
		root = filepath.Join(home, ".pyenv")
	}
	for minor := p.most; minor >= p.least; minor-- {
		found, err := filepath.Glob(filepath.Join(root, "versions", fmt.Sprintf("3.%d.*", minor), "bin", "python3"))
		if err == nil { // the pattern is a good one
			names = append(names, found...)
		}
	}
	return names
}
