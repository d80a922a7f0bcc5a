package berth

import (
	"context"
	"io"
)

// Blobs is the port to the store of large values. Keys are slash-separated
// paths of [A-Za-z0-9._-] parts. A blob is written once; writing the same key
// again replaces it whole, and readers see the old or the new one.
//
// Errors: not_found, invalid (key), unavailable.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open reads length bytes from offset; length < 0 reads to the end.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Size returns the blob's length in bytes.
	Size(ctx context.Context, key string) (int64, error)
	// DeletePrefix removes every blob whose key begins with prefix.
	DeletePrefix(ctx context.Context, prefix string) error
}
