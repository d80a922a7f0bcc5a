// Package digest checks bytes on their way against the size and hash that were
// announced.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// Reader ends with an error unless what it read has the size and hash that were
// announced. It passes on the last byte of that size only when the hash is right,
// so that nobody takes other bytes for whole. Its results may be asked for while
// it is read.
type Reader struct {
	size int64
	sum  string
	each func()

	mu     sync.Mutex // guards all below
	source io.Reader
	hash   hash.Hash
	read   int64
	fault  error
}

// NewReader checks source against size, and against the SHA-256 in hex unless it
// is empty. each, if not nil, is called after every read.
func NewReader(source io.Reader, size int64, sum string, each func()) *Reader {
	return &Reader{size: size, sum: sum, each: each, source: source, hash: sha256.New()}
}

// Read passes on what has been checked. Error: invalid.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.next(p)
	if r.each != nil {
		r.each()
	}
	return n, err
}

func (r *Reader) next(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return 0, r.fault
	}
	n, err := r.source.Read(p)
	r.hash.Write(p[:n])
	r.read += int64(n)
	switch {
	case r.read > r.size:
		r.fault = berth.Errorf(berth.CodeInvalid, "there are more than the %d bytes that were announced", r.size)
	case err == io.EOF && r.read < r.size:
		r.fault = berth.Errorf(berth.CodeInvalid, "there are %d bytes, fewer than the %d that were announced", r.read, r.size)
	case r.read == r.size && r.sum != "" && r.hex() != r.sum:
		r.fault = berth.Errorf(berth.CodeInvalid, "the bytes have another SHA-256 than was announced")
	}
	if r.fault != nil {
		return 0, r.fault
	}
	return n, err
}

func (r *Reader) hex() string { return hex.EncodeToString(r.hash.Sum(nil)) }

// Fault is what was wrong with the bytes; nil while nothing was.
func (r *Reader) Fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// Count is how many bytes were read.
func (r *Reader) Count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// Sum is the SHA-256, in hex, of what was read.
func (r *Reader) Sum() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hex()
}
