// Package sealed keeps secrets in one file, sealed with age.
//
// The key is an age identity in another file, best in another folder, so that a
// copy of the data alone opens nothing. `age -d -i KEYFILE FILE` shows the
// secrets to who has both. A change is written to a temporary file, synced and
// renamed into place under a lock, so that the file is whole after a kill and
// after a power cut, and several processes may use it.
package sealed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"filippo.io/age"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret"
)

// Secrets is a berth.Secrets in a file.
type Secrets struct {
	file     string
	identity *age.X25519Identity

	mu     sync.Mutex        // guards what follows
	values map[string][]byte // what the file held when it was last read; nil is not yet
	seen   fs.FileInfo       // the file then
}

var _ berth.Secrets = (*Secrets)(nil)

// Open uses the sealed file and its key, and makes what is not there, with mode
// 0600, as well as the folders, with mode 0700. An existing file without its
// key, a file that is damaged, and a key that others may read are refused:
// unavailable, with what to do.
func Open(file, keyFile string) (*Secrets, error) {
	ctx := context.Background()
	for _, path := range []string{file, keyFile} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, unusable("opening the secrets", path, err)
		}
	}
	s := &Secrets{file: file}
	err := underLock(ctx, file, func() error {
		_, err := os.Stat(file)
		absent := errors.Is(err, fs.ErrNotExist)
		if err != nil && !absent {
			return unusable("opening the secrets", file, err)
		}
		if s.identity, err = openKey(ctx, keyFile, file, absent); err != nil {
			return err
		}
		if absent {
			return s.store(map[string][]byte{})
		}
		return s.load()
	})
	if err != nil {
		return nil, berth.Wrap(err, "opening the secrets")
	}
	return s, nil
}

// Close forgets the values. No other call may be under way.
func (s *Secrets) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.values {
		clear(value)
	}
	s.values, s.seen = nil, nil
	return nil
}

// Read returns a secret's value. Errors: not_found, invalid, unavailable.
func (s *Secrets) Read(ctx context.Context, name string) (berth.SecretValue, error) {
	const doing = "reading a secret"
	if err := check(ctx, secret.CheckName(name)); err != nil {
		return berth.SecretValue{}, berth.Wrap(err, doing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return berth.SecretValue{}, berth.Wrap(err, doing)
	}
	value, ok := s.values[name]
	if !ok {
		return berth.SecretValue{}, berth.Wrap(secret.NotFound(name), doing)
	}
	return berth.NewSecretValue(append([]byte(nil), value...)), nil
}

// Put sets a secret. Errors: invalid, too_large, unavailable.
func (s *Secrets) Put(ctx context.Context, name string, value berth.SecretValue) error {
	err := secret.CheckName(name)
	if err == nil {
		err = secret.CheckValue(value)
	}
	return s.change(ctx, "setting a secret", err, func(values map[string][]byte) bool {
		values[name] = append([]byte(nil), value.Reveal()...)
		return true
	})
}

// Delete removes a secret for good; an absent one is no error. Errors: invalid,
// unavailable.
func (s *Secrets) Delete(ctx context.Context, name string) error {
	return s.change(ctx, "removing a secret", secret.CheckName(name), func(values map[string][]byte) bool {
		_, found := values[name]
		delete(values, name)
		return found
	})
}

// change reads the file, lets edit change a copy of the values, and writes the
// file if edit says that it must.
func (s *Secrets) change(ctx context.Context, doing string, fault error, edit func(map[string][]byte) bool) error {
	if err := check(ctx, fault); err != nil {
		return berth.Wrap(err, doing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := underLock(ctx, s.file, func() error {
		if err := s.load(); err != nil {
			return err
		}
		values := make(map[string][]byte, len(s.values)+1)
		for name, value := range s.values {
			values[name] = value
		}
		if !edit(values) {
			return nil
		}
		return s.store(values)
	})
	return berth.Wrap(err, doing)
}

func check(ctx context.Context, fault error) error {
	if fault != nil {
		return fault
	}
	if err := ctx.Err(); err != nil {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "the caller did not wait for the secrets", Cause: err}
	}
	return nil
}
