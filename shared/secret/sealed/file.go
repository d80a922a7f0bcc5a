package sealed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"filippo.io/age"
	"github.com/berth-dev/berth/shared/berth"
)

// content is what is sealed. Values are base64 in JSON.
type content struct {
	Version int               `json:"version"`
	Secrets map[string][]byte `json:"secrets"`
}

const contentVersion = 1

// load reads the file if it has changed since it was last read. Each change
// makes another file, so its identity, time and size tell.
func (s *Secrets) load() error {
	info, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		e := berth.Errorf(berth.CodeUnavailable, "the file of secrets %s was taken away", s.file)
		e.Remediation = "Put it back, or start berth again to begin without secrets."
		return e
	}
	if err != nil {
		return unusable("looking at the file of secrets", s.file, err)
	}
	if s.values != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) && info.Size() == s.seen.Size() {
		return nil
	}
	s.values, s.seen = nil, nil
	f, err := os.Open(s.file)
	if err != nil {
		return unusable("reading the file of secrets", s.file, err)
	}
	defer f.Close()
	// Of the file that is read, which another process may have replaced since.
	if info, err = f.Stat(); err != nil {
		return unusable("reading the file of secrets", s.file, err)
	}
	values, err := unseal(f, s.identity)
	if err != nil {
		return s.damaged(err)
	}
	s.values, s.seen = values, info
	return nil
}

// store writes the file; the caller holds the lock.
func (s *Secrets) store(values map[string][]byte) error {
	sealed, err := seal(values, s.identity)
	if err != nil {
		return err
	}
	info, err := replaceFile(s.file, sealed)
	if err != nil {
		return unusable("writing the file of secrets", s.file, err)
	}
	s.values, s.seen = values, info
	return nil
}

func seal(values map[string][]byte, identity *age.X25519Identity) ([]byte, error) {
	plain, err := json.Marshal(content{contentVersion, values})
	if err != nil {
		return nil, fmt.Errorf("encoding the secrets: %w", err)
	}
	defer clear(plain)
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, identity.Recipient())
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("sealing the secrets: %w", err)
	}
	return sealed.Bytes(), nil
}

func unseal(r io.Reader, identity *age.X25519Identity) (map[string][]byte, error) {
	r, err := age.Decrypt(r, identity)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	var c content
	// What json reports may quote what it reads; that stays here.
	if json.Unmarshal(plain, &c) != nil {
		return nil, errors.New("the content is not what berth writes")
	}
	if c.Version != contentVersion {
		return nil, fmt.Errorf("the layout is %d, not %d", c.Version, contentVersion)
	}
	if c.Secrets == nil {
		c.Secrets = map[string][]byte{}
	}
	return c.Secrets, nil
}

func (s *Secrets) damaged(err error) error {
	e := berth.Errorf(berth.CodeUnavailable, "the file of secrets %s cannot be opened with its key", s.file)
	e.Remediation = "Restore the file and its key from a backup that belongs together, or move the file away, start berth again and set the secrets anew."
	e.Cause = err
	return e
}
