package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/blobtest"
	"github.com/berth-dev/berth/shared/blob/dir"
)

func open(t *testing.T, path string) *dir.Blobs {
	t.Helper()
	blobs, err := dir.Open(path)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := blobs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return blobs
}

func TestContract(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) berth.Blobs { return open(t, filepath.Join(t.TempDir(), "data", "blobs")) })
}

func TestALinkDoesNotLeadOutOfTheFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows lets only administrators make links")
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "blob~")
	if err := os.WriteFile(secret, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	blobs := open(t, path)
	if err := os.Symlink(outside, filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(path, "file~")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"link/blob", "file"} {
		if r, err := blobs.Open(t.Context(), key, 0, -1); err == nil {
			_ = r.Close()
			t.Errorf("Open(%q) read a file outside of the folder", key)
		}
	}
	if err := blobs.Put(t.Context(), "link/new", strings.NewReader("x"), 1); err == nil {
		t.Error("Put wrote outside of the folder")
	}
	if err := blobs.DeletePrefix(t.Context(), "link"); err != nil {
		t.Errorf("DeletePrefix of a link: %v", err)
	}
	if _, err := os.Stat(secret); err != nil {
		t.Errorf("the file outside is gone: %v", err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder outside holds %d files, %v; want 1", len(entries), err)
	}
}

func TestWhatAKilledWriterLeftIsRemoved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	first, err := dir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Put(t.Context(), "k", strings.NewReader("x"), 1), first.Close()); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(path, "~tmp", "half")
	if err := os.WriteFile(left, []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half-written file is still there (%v)", err)
	}
	if size, err := second.Size(t.Context(), "k"); err != nil || size != 1 {
		t.Errorf("Size = %d, %v; want the finished blob", size, err)
	}
}

func TestFailedPutsLeaveNoFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	blobs := open(t, path)
	if err := blobs.Put(t.Context(), "k", strings.NewReader("too long"), 3); err == nil {
		t.Fatal("Put of too many bytes succeeded")
	}
	entries, err := os.ReadDir(filepath.Join(path, "~tmp"))
	if err != nil || len(entries) != 0 {
		t.Fatalf("%d temporary files, %v; want none", len(entries), err)
	}
}

func TestOthersCannotReadBlobs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	path := filepath.Join(t.TempDir(), "blobs")
	if err := open(t, path).Put(t.Context(), "a/k", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "a": 0o700, "a/k~": 0o600} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %q = %v, %v; want %o", name, info.Mode().Perm(), err, want)
		}
	}
}

func TestAFolderThatCannotBeUsedIsExplained(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, filepath.Join(path, "below")} {
		_, err := dir.Open(path)
		var coded *berth.Error
		if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || coded.Remediation == "" {
			t.Errorf("Open(%q) = %v, want unavailable with what to do", path, err)
		}
	}
}
