//go:build unix

package credentials_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
)

func TestAKeyIsNeverInAFileThatOthersMayRead(t *testing.T) {
	// The umask is the process's, so this test runs by itself.
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	folder := filepath.Join(t.TempDir(), "berth")
	path := filepath.Join(folder, credentials.FileName)
	put(t, path, "one")
	put(t, path, "two")
	var seen int
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", p, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 2 {
		t.Errorf("looked at %d files, %v", seen, err)
	}
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o601} {
		path := filepath.Join(t.TempDir(), credentials.FileName)
		put(t, path, "one")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := credentials.Load(path)
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "chmod 600 "+path) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", mode, err)
		}
		if err := credentials.Change(t.Context(), path, func(*credentials.File) error { return nil }); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("%s, changed: %v", mode, err)
		}
	}
}

func TestAFolderThatIsThereKeepsItsModeAndALinkStaysOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder, elsewhere := filepath.Join(root, "berth"), filepath.Join(root, "elsewhere.toml")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, elsewhere, "one")
	path := filepath.Join(folder, credentials.FileName)
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	put(t, path, "two")
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if got := names(t, elsewhere); len(got) != 2 {
		t.Errorf("behind the link are %v", got)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}
