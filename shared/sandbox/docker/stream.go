//go:build linux

package docker

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

var _ berth.Streamer = (*Provider)(nil)

// OpenStream opens a stream into the sandbox.
func (p *Provider) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	return ask(ctx, p, ref, "", func(h hands) (io.ReadWriteCloser, error) { return h.OpenStream(ctx, ref, spec) })
}
