// Package privatefile keeps what is for its owner alone, such as keys and
// tokens, in files of a data folder.
package privatefile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces a file as a whole, readable by its owner alone.
func Write(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // gone after the rename
	_, err = tmp.Write(data)
	for _, step := range []func() error{func() error { return tmp.Chmod(0o600) }, tmp.Sync, tmp.Close} {
		if e := step(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
