//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/embedded"
)

// filesHolding are the regular files below a folder that hold a text.
func filesHolding(t *testing.T, folder, text string) []string {
	t.Helper()
	var found []string
	looked := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		looked++
		return err
	})
	if err != nil || looked == 0 {
		t.Fatalf("looked at %d files below %s: %v", looked, folder, err)
	}
	return found
}

func TestAKeyServesAnotherPersonUntilItIsRemovedAndIsKeptByThemAlone(t *testing.T) {
	owner, guest := newMachine(t), newMachine(t)
	owner.ok("runs", "list") // starts the server
	found, err := embedded.Find(t.Context(), owner.data)
	if err != nil {
		t.Fatal(err)
	}
	value := strings.TrimSpace(owner.ok("key", "create", "guest", "--scope", "read,run").stdout)
	if !access.IsValue(value) {
		t.Fatalf("key create printed %q", value)
	}
	// Without a data folder named, the context is what the guest's commands use.
	guest.env = append(guest.env, "BERTH_DATA_DIR=", "XDG_DATA_HOME="+guest.data)
	if r := guest.runWith([]byte(value+"\n"), "login", found.URL, "--name", "theirs"); r.status != 0 {
		t.Fatalf("login = %d\n%s", r.status, r.stderr)
	}
	mustContain(t, "whoami", guest.ok("whoami").stdout, "guest", "read run", found.URL)

	r := guest.ok("run", "-q", "-e", "local", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
	mustContain(t, "arguments of all processes", r.stdout, "berth", "serve --background", "run -q -e local")
	mustNotContain(t, "arguments of all processes", r.stdout, value)
	if r := guest.run("secret", "list"); r.status != 0 {
		t.Errorf("reading = %d\n%s", r.status, r.stderr)
	}
	if r := guest.run("key", "list"); r.status != 3 || !strings.Contains(r.stderr, "admin") {
		t.Errorf("listing keys without admin = %d\n%s", r.status, r.stderr)
	}
	mustContain(t, "the owner's list", owner.ok("key", "list").stdout, "guest", "bth_"+access.Shown(value)+"…", "ago")
	if entries, err := os.ReadDir(guest.data); err == nil {
		t.Errorf("the guest has a data folder of %d entries: a server was started", len(entries))
	}

	owner.ok("key", "rm", "guest")
	if r := guest.run("runs", "list"); r.status != 3 {
		t.Errorf("with a removed key = %d, want 3", r.status)
	}
	if files := filesHolding(t, filepath.Dir(owner.data), value); len(files) > 0 {
		t.Errorf("the owner's machine holds the key in %v", files)
	}
	files := filesHolding(t, filepath.Dir(guest.data), value)
	if len(files) != 1 || filepath.Base(files[0]) != credentials.FileName {
		t.Fatalf("the guest's machine holds the key in %v", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	guest.ok("logout")
	if files := filesHolding(t, filepath.Dir(guest.data), value); len(files) > 0 {
		t.Errorf("after logging out the key is in %v", files)
	}
}
