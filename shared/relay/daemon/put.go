//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// putLimit is how long a large write is kept whose client does not come back.
const putLimit = 2 * time.Minute

// put is a large write. It belongs to no connection, so that one that drops
// loses nothing.
type put struct {
	mu     sync.Mutex // guards all below; held while a piece is written
	upload wire.Upload
	offset int64
	over   bool
	file   json.RawMessage // then, the answer to its end
	err    error           // then, why it came to nothing
	timer  *time.Timer     // gives it up
}

func (s *Server) doPut(ctx context.Context, m wire.Message) (any, error) {
	if m.Op == wire.OpPut {
		return s.beginPut(ctx, m)
	}
	p, err := decode[wire.Piece](m)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	put := s.puts[p.Write]
	s.mu.Unlock()
	if put == nil {
		if p.Abort {
			return nil, nil
		}
		return nil, errPutLate
	}
	put.timer.Reset(putLimit)
	put.mu.Lock()
	defer put.mu.Unlock()
	switch {
	case p.Abort:
		s.forget(p.Write)
		return nil, s.abort(ctx, put)
	case put.over:
		return put.ended() // its answer did not arrive
	case m.Op == wire.OpPutPiece:
		return nil, s.putPiece(ctx, put, p.Offset, m.Body)
	}
	put.over = true
	put.file, put.err = s.forward(ctx, wire.OpCommit, put.upload, nil)
	return put.ended()
}

// ended is the answer to the end of a write, as often as it is asked for.
func (p *put) ended() (any, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.file, nil
}

var errPutLate = berth.Errorf(berth.CodeUnavailable, "the write was interrupted for too long")

func (s *Server) beginPut(ctx context.Context, m wire.Message) (any, error) {
	agent, err := s.agent()
	if err != nil {
		return nil, err
	}
	raw, _, err := agent.Forward(ctx, wire.OpUpload, m.Params, nil)
	if err != nil {
		return nil, err
	}
	put, name := &put{}, newName()
	if err := json.Unmarshal(raw, &put.upload); err != nil {
		return nil, err
	}
	put.timer = time.AfterFunc(putLimit, func() {
		s.forget(name)
		put.mu.Lock()
		defer put.mu.Unlock()
		_ = s.abort(context.Background(), put) // a guest that is gone has given it up
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts[name] = put
	return wire.Piece{Write: name}, nil
}

func (s *Server) putPiece(ctx context.Context, put *put, offset int64, data []byte) error {
	if offset > put.offset {
		return berth.FieldErrorf(berth.CodeConflict, "offset", "is %d and the write has come up to %d", offset, put.offset)
	}
	data = data[min(put.offset-offset, int64(len(data))):]
	if len(data) == 0 {
		return nil
	}
	// Brought to its end: half a piece would be a hole.
	if _, err := s.forward(context.WithoutCancel(ctx), wire.OpChunk, put.upload, data); err != nil {
		return err
	}
	put.offset += int64(len(data))
	return nil
}

// abort gives a write up; put.mu is held.
func (s *Server) abort(ctx context.Context, put *put) error {
	put.timer.Stop()
	if put.over {
		return nil
	}
	put.over, put.err = true, errPutLate // for who has been waiting for it meanwhile
	u := put.upload
	u.Abort = true
	_, err := s.forward(ctx, wire.OpCommit, u, nil)
	return err
}

func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.puts, name)
}

func (s *Server) forward(ctx context.Context, op wire.Op, params any, body []byte) (json.RawMessage, error) {
	agent, err := s.agent()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	raw, _, err := agent.Forward(ctx, op, encoded, body)
	return raw, err
}
