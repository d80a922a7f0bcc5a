package relay

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

var _ berth.Streamer = (*Sandboxes)(nil)

// OpenStream opens a stream into the sandbox, over a connection of its own.
// Error: unsupported where Dial makes no further ones.
func (s *Sandboxes) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if !s.config.Streams {
		return nil, &berth.Error{
			Code: berth.CodeUnsupported, Message: "streams do not reach this sandbox",
			Remediation: "Use berth exec SANDBOX -- COMMAND.",
		}
	}
	p := wire.Opened{Kind: spec.Kind, Port: spec.Port, Shell: wire.Shell{
		Env: variables(spec.Env), Mask: values(spec.Mask), Terminal: spec.Terminal, Window: spec.Window,
	}}
	encoded, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	rw, err := s.dialStream(ctx, ref)
	if err != nil {
		return nil, err
	}
	stream, err := beginStream(ctx, rw, encoded)
	if err != nil {
		rw.Close()
		return nil, err
	}
	return stream, nil
}

func (s *Sandboxes) dialStream(ctx context.Context, ref berth.SandboxRef) (io.ReadWriteCloser, error) {
	if s.config.DialStream != nil {
		return s.config.DialStream(ctx, ref)
	}
	return s.config.Dial(ctx, ref, false)
}

// beginStream asks for the stream on a new connection.
func beginStream(ctx context.Context, rw io.ReadWriteCloser, params json.RawMessage) (io.ReadWriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	s := wire.NewStream(rw)
	hello, err := s.Receive()
	if err == nil && hello.Error != nil {
		return nil, hello.Error.Berth()
	}
	var answer wire.Message
	if err == nil {
		err = s.Send(wire.Message{Header: wire.Header{ID: 1, Op: wire.OpStream, Params: params}})
	}
	if err == nil {
		answer, err = s.Receive()
	}
	switch {
	case !stop():
		return nil, client.ContextError(ctx)
	case err != nil:
		return nil, unreachable(errors.Join(errBroken, err))
	case answer.Error != nil:
		return nil, answer.Error.Berth()
	}
	return s.Take(), nil
}
