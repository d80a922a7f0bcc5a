package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var built struct {
	sync.Mutex
	dir   string
	users int
	bytes []byte
}

// BuildGuest builds cmd/berth-guest and returns its path. Tests of one binary
// that run at the same time share the file.
func BuildGuest(t testing.TB) string {
	t.Helper()
	bequeathTemp(t)
	built.Lock()
	defer built.Unlock()
	if built.users == 0 {
		dir, err := os.MkdirTemp("", "berth-guest")
		if err != nil {
			t.Fatal(err)
		}
		Bequeath(t, dir)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "berth-guest"), "github.com/berth-dev/berth/cmd/berth-guest")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			os.RemoveAll(dir)
			t.Fatalf("building the guest: %v\n%s", err, out)
		}
		built.dir = dir
	}
	built.users++
	t.Cleanup(func() {
		built.Lock()
		defer built.Unlock()
		if built.users--; built.users == 0 {
			os.RemoveAll(built.dir)
		}
	})
	return filepath.Join(built.dir, "berth-guest")
}

// GuestBytes is the guest's program, read once: many tests at a time would take much
// memory, and some count it.
func GuestBytes(t testing.TB) []byte {
	t.Helper()
	path := BuildGuest(t)
	built.Lock()
	defer built.Unlock()
	if built.bytes == nil {
		var err error
		if built.bytes, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return built.bytes
}
