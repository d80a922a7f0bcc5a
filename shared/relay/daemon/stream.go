//go:build linux

package daemon

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// becomeStream opens what m asks for, and carries bytes between it and the
// connection until either is gone. The connection is over then.
func (s *session) becomeStream(ctx context.Context, m wire.Message) {
	stream, err := s.openStream(ctx, m)
	if sendErr := s.stream.Send(wire.Reply(m.ID, nil, nil, err)); err != nil || sendErr != nil {
		if stream != nil {
			stream.Close()
		}
		return
	}
	conn := s.stream.Take()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{stream})
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{stream}, struct{ io.Reader }{conn})
		done <- struct{}{}
	}()
	<-done
	stream.Close()
	conn.Close()
	<-done
}

func (s *session) openStream(ctx context.Context, m wire.Message) (io.ReadWriteCloser, error) {
	p, err := decode[wire.Opened](m)
	if err != nil {
		return nil, err
	}
	agent, err := s.server.agent()
	if err != nil {
		return nil, err
	}
	spec := berth.StreamSpec{Kind: p.Kind, Port: p.Port, Terminal: p.Shell.Terminal, Window: p.Shell.Window}
	command := specOf(wire.Command{Env: p.Shell.Env, Mask: p.Shell.Mask})
	spec.Env, spec.Mask = command.Env, command.Mask
	return agent.OpenStream(ctx, spec)
}
