package guestbin_test

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guestbin"
)

func TestAGuestThatWasNotBuiltIsUnavailableWithTheRemedy(t *testing.T) {
	t.Parallel()
	_, err := guestbin.Install(t.TempDir(), "none")
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeUnavailable || e.Remediation == "" {
		t.Errorf("Install = %v, want unavailable with a remedy", err)
	}
}

func TestTheGuestIsInstalledOnceUnderItsHash(t *testing.T) {
	t.Parallel()
	want, err := guestbin.Binary(runtime.GOARCH)
	if berth.CodeOf(err) == berth.CodeUnavailable {
		t.Skip("built without guests: run make guests")
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := guestbin.Install(dir, runtime.GOARCH)
	if err != nil {
		t.Fatalf("Install: %v", err)
	}
	before, err := os.Stat(path)
	if err != nil || (runtime.GOOS != "windows" && before.Mode().Perm() != 0o755) {
		t.Fatalf("the guest is %v, %v; want a program", before, err)
	}
	again, err := guestbin.Install(dir, runtime.GOARCH)
	if err != nil || again != path {
		t.Fatalf("Install again = %q, %v; want %q", again, err, path)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the guest was written twice (%v)", err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file differs from the guest that is embedded (%v)", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %d entries, %v; want the guest alone", len(entries), err)
	}
}
