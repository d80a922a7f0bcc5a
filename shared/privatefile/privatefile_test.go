//go:build unix

package privatefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
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

func TestATokenIsMadeOnceAndReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	first, err := privatefile.OpenToken(path)
	if err != nil || len(first) < 40 {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := privatefile.OpenToken(path); err != nil || again != first {
		t.Errorf("again: %q, %v", again, err)
	}
	if read, err := privatefile.ReadToken(path); err != nil || read != first {
		t.Errorf("read: %q, %v", read, err)
	}
	other, err := privatefile.OpenToken(filepath.Join(t.TempDir(), "token"))
	if err != nil || other == first {
		t.Errorf("another file's: %q, %v", other, err)
	}
}

func TestTokensThatOthersMayReadAndEmptyOnesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string
		mode             os.FileMode
	}{
		{"by the group", "secret-token", "chmod 600", 0o640},
		{"by all", "secret-token", "chmod 600", 0o604},
		{"an empty one", " \n", "is empty", 0o600},
		{"one of two lines", "secret-token\nx", "more than one token", 0o600},
		{"one of bytes that no header carries", "secret-token\x00\xff", "visible ASCII", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := privatefile.ReadToken(path)
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, err := privatefile.OpenToken(path); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("%s, opened: %v", tt.name, err)
		}
	}
}
