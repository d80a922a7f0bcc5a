//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/guest/wire"
)

// maxRequests is how many requests of a connection are worked on at once. Those
// that wait for output are among them.
const maxRequests = 1024

// session is one connection.
type session struct {
	server   *Server
	stream   *wire.Stream
	requests wire.Requests
}

// Serve answers one connection until it ends or ctx does. It takes over rw, a
// stream of any kind.
func (s *Server) Serve(ctx context.Context, rw io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	session := &session{server: s, stream: wire.NewStream(rw)}
	var work sync.WaitGroup
	defer func() {
		session.stream.Close()
		cancel()
		work.Wait()
	}()
	work.Go(func() {
		<-ctx.Done()
		session.stream.Close() // ends Receive
	})
	hello, err := json.Marshal(wire.FarHello{Version: wire.FarVersion, Daemon: s.name})
	if err != nil {
		return err
	}
	if err := session.stream.Send(wire.Message{Header: wire.Header{Op: wire.OpHello, Params: hello}}); err != nil {
		return err
	}
	slots := make(chan struct{}, maxRequests)
	for {
		m, err := session.stream.Receive()
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Op == wire.OpStream {
			session.becomeStream(ctx, m)
			return nil
		}
		if m.Op == wire.OpAbandon {
			session.requests.Abandon(m.ID)
			continue
		}
		slots <- struct{}{}
		s.answering.Add(1)
		requestCtx := session.requests.Begin(ctx, m.ID)
		work.Go(func() {
			defer func() { <-slots }()
			defer s.answering.Add(-1)
			defer session.requests.Abandon(m.ID)
			result, body, err := s.do(requestCtx, m)
			answer := wire.Reply(m.ID, result, body, err)
			_ = session.stream.Send(answer) // a connection that is gone has nobody to tell
			if m.Op == wire.OpDestroy && answer.Error == nil {
				s.end()
			}
		})
	}
}
