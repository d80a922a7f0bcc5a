//go:build linux

package docker

import (
	"context"
	"fmt"
	"io"
	"time"
)

// whileHeard makes a context that ends when heard has not been called for limit;
// its cause says so. stop ends it in any case.
func whileHeard(ctx context.Context, limit time.Duration) (coming context.Context, heard, stop func()) {
	coming, stall := context.WithCancelCause(ctx)
	watch := time.AfterFunc(limit, func() { stall(fmt.Errorf("nothing came for %s", limit)) })
	return coming, func() { watch.Reset(limit) }, func() { watch.Stop(); stall(nil) }
}

// heardReader tells of each read that brings something.
type heardReader struct {
	io.Reader
	heard func()
}

func (r heardReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.heard()
	}
	return n, err
}
