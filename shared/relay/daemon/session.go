//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// maxRequests is how many requests of a connection are worked on at once. Those
// that wait for output are among them.
const maxRequests = 1024

// session is one connection.
type session struct {
	server *Server
	stream *wire.Stream

	mu      sync.Mutex // guards cancels
	cancels map[uint64]context.CancelFunc
}

// Serve answers one connection until it ends or ctx does. It takes over rw, a
// stream of any kind.
func (s *Server) Serve(ctx context.Context, rw io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	session := &session{server: s, stream: wire.NewStream(rw), cancels: map[uint64]context.CancelFunc{}}
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
			session.abandon(m.ID)
			continue
		}
		slots <- struct{}{}
		s.answering.Add(1)
		requestCtx := session.begin(ctx, m.ID)
		work.Go(func() {
			defer func() { <-slots }()
			defer s.answering.Add(-1)
			defer session.abandon(m.ID)
			answer := session.answer(requestCtx, m)
			answer.ID, answer.Op = m.ID, wire.OpReply
			_ = session.stream.Send(answer) // a connection that is gone has nobody to tell
			if m.Op == wire.OpDestroy && answer.Error == nil {
				s.end()
			}
		})
	}
}

func (s *session) begin(ctx context.Context, id uint64) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels[id] = cancel
	return ctx
}

func (s *session) abandon(id uint64) {
	s.mu.Lock()
	cancel := s.cancels[id]
	delete(s.cancels, id)
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (s *session) answer(ctx context.Context, m wire.Message) wire.Message {
	result, body, err := s.server.do(ctx, m)
	if err != nil {
		return wire.Message{Header: wire.Header{Error: errorOf(err)}}
	}
	answer := wire.Message{Body: body}
	if raw, ok := result.(json.RawMessage); ok {
		answer.Params = raw
	} else if result != nil {
		if answer.Params, err = json.Marshal(result); err != nil {
			answer.Error = errorOf(err)
		}
	}
	return answer
}

func errorOf(err error) *wire.Error {
	var e *berth.Error
	if !errors.As(err, &e) {
		e = berth.Errorf(berth.CodeOf(err), "%s", err.Error())
	}
	return &wire.Error{Code: e.Code, Message: e.Message, Field: e.Field, Remediation: e.Remediation}
}
