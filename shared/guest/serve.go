//go:build linux

package guest

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/guest/workspace"
)

// maxRequests is how many requests of a connection are worked on at once.
const maxRequests = 64

// session is one connection to the agent.
type session struct {
	guest    *Guest
	conn     *wire.Conn
	requests wire.Requests

	mu         sync.Mutex // guards all below
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
	s := &session{guest: g, conn: conn, uploads: map[uint64]*upload{}}
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
			s.requests.Abandon(m.ID)
			continue
		}
		slots <- struct{}{}
		requestCtx := s.requests.Begin(ctx, m.ID)
		work.Go(func() {
			defer func() { <-slots }()
			defer s.requests.Abandon(m.ID)
			_ = conn.Send(s.answer(requestCtx, m)) // a connection that is gone has nobody to tell
			if m.Op == wire.OpStop {
				g.quitOnce.Do(func() { close(g.quit) })
			}
		})
	}
}

// answer does what m asks for. It closes the files that came with it.
func (s *session) answer(ctx context.Context, m wire.Message) wire.Message {
	result, body, err := s.do(ctx, &m)
	for _, f := range m.Files {
		f.Close()
	}
	return wire.Reply(m.ID, result, body, err)
}

func notice(op wire.Op, params any) wire.Message {
	b, err := json.Marshal(params)
	if err != nil {
		panic(err) // the notices hold strings and numbers only
	}
	return wire.Message{Header: wire.Header{Op: op, Params: b}}
}
