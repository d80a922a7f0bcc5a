package runnertest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// Blobs keeps blobs in memory. The zero value is ready.
type Blobs struct {
	mu    sync.Mutex // guards blobs
	blobs map[string][]byte
}

var _ berth.Blobs = (*Blobs)(nil)

// Put stores what r gives.
func (b *Blobs) Put(_ context.Context, key string, r io.Reader, size int64) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if int64(len(data)) != size {
		return berth.Errorf(berth.CodeInvalid, "blob %s has %d bytes, not %d", key, len(data), size)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blobs == nil {
		b.blobs = map[string][]byte{}
	}
	b.blobs[key] = data
	return nil
}

// Open reads a range.
func (b *Blobs) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.blobs[key]
	if !ok || offset > int64(len(data)) {
		return nil, berth.Errorf(berth.CodeNotFound, "no such blob")
	}
	data = data[offset:]
	if length >= 0 && length < int64(len(data)) {
		data = data[:length]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Size returns the length of a blob.
func (b *Blobs) Size(_ context.Context, key string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.blobs[key]
	if !ok {
		return 0, berth.Errorf(berth.CodeNotFound, "no such blob")
	}
	return int64(len(data)), nil
}

// DeletePrefix removes blobs.
func (b *Blobs) DeletePrefix(_ context.Context, prefix string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.blobs {
		if strings.HasPrefix(key, prefix) {
			delete(b.blobs, key)
		}
	}
	return nil
}

// Len returns how many blobs there are.
func (b *Blobs) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.blobs)
}

// Secrets keeps secret values in memory. The zero value is ready.
type Secrets struct {
	mu     sync.Mutex // guards values
	values map[string][]byte
}

var _ berth.Secrets = (*Secrets)(nil)

// Put sets a secret.
func (s *Secrets) Put(_ context.Context, name string, value berth.SecretValue) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	s.values[name] = bytes.Clone(value.Reveal())
	return nil
}

// Read returns not_found for an absent secret.
func (s *Secrets) Read(_ context.Context, name string) (berth.SecretValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[name]
	if !ok {
		return berth.SecretValue{}, berth.Errorf(berth.CodeNotFound, "no such secret")
	}
	return berth.NewSecretValue(value), nil
}

// Delete removes a secret.
func (s *Secrets) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, name)
	return nil
}
