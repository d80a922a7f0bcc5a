//go:build linux

package guest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/guest/workspace"
)

// maxRequests is how many requests of a connection are worked on at once.
const maxRequests = 64

// session is one connection to the agent.
type session struct {
	guest *Guest
	conn  *wire.Conn

	mu         sync.Mutex // guards all below
	cancels    map[uint64]context.CancelFunc
	uploads    map[uint64]*upload
	lastUpload uint64
}

type upload struct {
	mu sync.Mutex // one request at a time
	*workspace.Upload
}

// serve answers the agent until the connection ends. It reports whether the
// agent said anything.
func (g *Guest) serve(conn *wire.Conn) (heard bool) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{guest: g, conn: conn, cancels: map[uint64]context.CancelFunc{}, uploads: map[uint64]*upload{}}
	var work sync.WaitGroup
	defer func() {
		conn.Close()
		cancel()
		work.Wait()
		conn.Discard()
		for _, u := range s.uploads {
			u.Abort()
		}
	}()
	if err := conn.Send(notice(wire.OpHello, wire.Hello{Version: wire.Version, PID: os.Getpid(), SandboxStart: g.config.SandboxStart})); err != nil {
		return false
	}
	work.Go(func() {
		for ids := g.looks.next(ctx); ids != nil; ids = g.looks.next(ctx) {
			for _, id := range ids {
				if conn.Send(notice(wire.OpLook, wire.Look{ID: id})) != nil {
					return
				}
			}
		}
	})
	work.Go(func() {
		select {
		case <-ctx.Done():
		case <-g.quit:
			conn.Close() // ends Receive
		}
	})
	slots := make(chan struct{}, maxRequests)
	for {
		m, err := conn.Receive()
		if err != nil {
			return heard
		}
		heard = true
		if m.Op == wire.OpAbandon {
			s.abandon(m.ID)
			continue
		}
		slots <- struct{}{}
		requestCtx := s.begin(ctx, m.ID)
		work.Go(func() {
			defer func() { <-slots }()
			defer s.abandon(m.ID)
			answer := s.answer(requestCtx, m)
			answer.ID, answer.Op = m.ID, wire.OpReply
			_ = conn.Send(answer) // a connection that is gone has nobody to tell
			if m.Op == wire.OpStop {
				g.quitOnce.Do(func() { close(g.quit) })
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

// answer does what m asks for. It closes the files that came with it.
func (s *session) answer(ctx context.Context, m wire.Message) wire.Message {
	result, body, err := s.do(ctx, &m)
	for _, f := range m.Files {
		f.Close()
	}
	if err != nil {
		return wire.Message{Header: wire.Header{Error: errorOf(err)}}
	}
	answer := wire.Message{Body: body}
	if result != nil {
		answer.Params, err = json.Marshal(result)
		if err != nil {
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

func notice(op wire.Op, params any) wire.Message {
	b, err := json.Marshal(params)
	if err != nil {
		panic(err) // the notices hold strings and numbers only
	}
	return wire.Message{Header: wire.Header{Op: op, Params: b}}
}
