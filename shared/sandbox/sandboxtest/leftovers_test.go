package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	dirVariable = "BERTH_TEST_BEQUEATHED"
	pause       = 20 * time.Millisecond
)

// This test runs itself as the process that dies.
func TestFoldersOfTestsThatAreKilledAreRemoved(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(dirVariable); dir != "" {
		Bequeath(t, dir)
		select {} // until it is killed
	}
	dir := filepath.Join(t.TempDir(), "a folder")
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in it"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFoldersOfTestsThatAreKilledAreRemoved$", "-test.timeout=1s")
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not out of time:\n%s", out)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(pause) {
		_, err := os.Stat(dir)
		if os.IsNotExist(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is still there: %v", err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another folder: %v", err)
	}
}
