package emulator

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Root is the root of the repository that the current folder is in.
func Root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/berth-dev/berth\n")) {
			return folder, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("the current folder is not in berth's repository")
		}
		folder = parent
	}
}

// Cache is the folder for what is installed: BERTH_CACHE, or .cache at the root
// of the repository.
func Cache() (string, error) {
	if folder := os.Getenv("BERTH_CACHE"); folder != "" {
		return filepath.Abs(folder)
	}
	root, err := Root()
	if err != nil {
		return "", errors.Join(err, errors.New("set BERTH_CACHE to a folder"))
	}
	return filepath.Join(root, ".cache"), nil
}
