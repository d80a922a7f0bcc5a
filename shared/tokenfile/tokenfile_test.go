//go:build unix

package tokenfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/tokenfile"
)

func TestATokenIsMadeOnceAndReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	first, err := tokenfile.Open(path)
	if err != nil || len(first) < 40 {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := tokenfile.Open(path); err != nil || again != first {
		t.Errorf("again: %q, %v", again, err)
	}
	if read, err := tokenfile.Read(path); err != nil || read != first {
		t.Errorf("read: %q, %v", read, err)
	}
	other, err := tokenfile.Open(filepath.Join(t.TempDir(), "token"))
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
		_, err := tokenfile.Read(path)
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, err := tokenfile.Open(path); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("%s, opened: %v", tt.name, err)
		}
	}
}
