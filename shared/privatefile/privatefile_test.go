//go:build unix

package privatefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/privatefile"
)

func TestWriteReplacesAFileForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("an older and longer one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := privatefile.Write(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := privatefile.Write(filepath.Join(dir, "none", "key"), nil); err == nil {
		t.Error("a file was written into no folder")
	}
}
