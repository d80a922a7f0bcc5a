package shell_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/shell"
)

// Each server that was killed left a folder for the socket of each of its connections.
func TestFoldersOfProgramsThatWereKilledAreRemovedByTheNext(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	self, err := os.Executable() // any program: it is not started
	if err != nil {
		t.Fatal(err)
	}
	open := func() *shell.Program {
		p, err := shell.NewProgram(shell.ProgramConfig{Destination: "none", Path: self})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := open()
	for _, name := range []string{"berth-ssh-1", "berth-ssh-2", "berth-ssh-new", "others"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "berth-ssh-1", "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for _, entry := range entries {
		if entry.Name() == "berth-ssh-new" { // another process has just made it
			continue
		}
		if err := os.Chtimes(filepath.Join(dir, entry.Name()), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := open().Close(); err != nil {
		t.Error(err)
	}
	left := names(t, dir)
	if len(left) != 3 || !left["berth-ssh-new"] || !left["others"] {
		t.Errorf("%v are left; want that of the program that is used, the new one and the other", left)
	}
	if err := used.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) != 2 {
		t.Errorf("%v are left after Close; want the new one and the other", left)
	}
}

func names(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, entry := range entries {
		all[entry.Name()] = true
	}
	return all
}
