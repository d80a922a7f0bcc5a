package sealed

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"filippo.io/age"
	"github.com/berth-dev/berth/shared/berth"
)

// openKey reads the key, or makes one when there is none and mayMake. Several
// data folders may share a key, so it has a lock of its own.
func openKey(ctx context.Context, keyFile, file string, mayMake bool) (*age.X25519Identity, error) {
	var identity *age.X25519Identity
	err := underLock(ctx, keyFile, func() error {
		var err error
		identity, err = readKey(keyFile)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !mayMake {
			e := berth.Errorf(berth.CodeUnavailable, "the key %s of the file of secrets %s is not there", keyFile, file)
			e.Remediation = "Restore the key from a backup. If it is lost, so are the secrets: move the file away, start berth again and set them anew."
			return e
		}
		if identity, err = age.GenerateX25519Identity(); err != nil {
			return err
		}
		text := "# The key of berth's secrets. Keep a copy; without it the secrets are lost.\n" + identity.String() + "\n"
		if _, err := replaceFile(keyFile, []byte(text)); err != nil {
			return unusable("writing the key of the secrets", keyFile, err)
		}
		return nil
	})
	return identity, err
}

// readKey returns an fs.ErrNotExist when there is no key.
func readKey(keyFile string) (*age.X25519Identity, error) {
	info, err := os.Stat(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, unusable("looking at the key of the secrets", keyFile, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		e := berth.Errorf(berth.CodeUnavailable, "the key of the secrets %s may be read by others", keyFile)
		e.Remediation = "Take their rights away: chmod 600 " + keyFile
		return nil, e
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, unusable("reading the key of the secrets", keyFile, err)
	}
	defer clear(text)
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if identity, err := age.ParseX25519Identity(string(line)); err == nil {
			return identity, nil
		}
		break // its error would quote the key
	}
	e := berth.Errorf(berth.CodeUnavailable, "%s is not the key of secrets", keyFile)
	e.Remediation = "Restore it from a backup. If it is lost, so are the secrets: move it and the file of secrets away, start berth again and set them anew."
	return nil, e
}
