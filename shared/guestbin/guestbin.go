// Package guestbin holds the guest, the small program inside a sandbox, for each
// architecture that it is built for.
package guestbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-dev/berth/shared/berth"
)

// A folder with a README keeps `go build` working on a clone where the guests
// have not been built.
//
//go:embed all:bin
var files embed.FS

// Binary returns the guest for linux on arch. A berth that was built without
// guests is unavailable, with what to do.
func Binary(arch string) ([]byte, error) {
	b, err := files.ReadFile("bin/berth-guest-linux-" + arch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &berth.Error{
			Code:        berth.CodeUnavailable,
			Message:     fmt.Sprintf("this berth was built without the guest for linux/%s", arch),
			Remediation: "build it with `make build`, which embeds the guests",
		}
	}
	return b, err
}

// Install writes the guest for arch into dir under its hash, unless it is there,
// and returns its path. Sandboxes refer to it by that path for as long as they live.
func Install(dir, arch string) (string, error) {
	b, err := Binary(arch)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	path := filepath.Join(dir, "guest-"+hex.EncodeToString(sum[:8]))
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(b)) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the guest's folder: %w", err)
	}
	// Written beside and renamed: a server that is killed here leaves no half guest.
	tmp, err := os.CreateTemp(dir, ".guest-*")
	if err != nil {
		return "", fmt.Errorf("installing the guest: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	for _, step := range []func() error{func() error { return tmp.Chmod(0o755) }, tmp.Sync, tmp.Close} {
		if e := step(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("installing the guest: %w", err)
	}
	return path, nil
}
