package relay

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

var _ berth.Streamer = (*Sandboxes)(nil)

// OpenStream refuses: a far guest is reached by requests alone.
func (s *Sandboxes) OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error) {
	return nil, &berth.Error{
		Code: berth.CodeUnsupported, Message: "streams do not reach this sandbox",
		Remediation: "Use berth exec SANDBOX -- COMMAND.",
	}
}
