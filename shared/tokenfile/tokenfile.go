// Package tokenfile keeps bearer tokens in files that are for their owner alone.
package tokenfile

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

const tokenBytes = 32

// Open returns the bearer token in a file, and makes both when there is no
// file.
func Open(path string) (string, error) {
	token, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	b := make([]byte, tokenBytes)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	token = "bth_" + base64.RawURLEncoding.EncodeToString(b)
	return token, privatefile.Write(path, []byte(token+"\n"))
}

// Read reads a token file. One that others may read is refused, as is
// one that holds no token: nothing, or what no header can carry.
func Read(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", berth.Errorf(berth.CodeInvalid, "the token file %s is no file: remove it", path)
	}
	b, err := privatefile.Read(path)
	if err != nil {
		return "", berth.Wrap(err, "reading the token")
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", berth.Errorf(berth.CodeInvalid, "the token file %s is empty: remove it, and another token is made at the next start", path)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", berth.Errorf(berth.CodeInvalid, "the token file %s holds more than one token of visible ASCII characters: remove it, and another token is made at the next start", path)
	}
	return token, nil
}
