package wire

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// Requests are those of a connection that are worked on. The zero value is ready.
type Requests struct {
	mu      sync.Mutex // guards cancels
	cancels map[uint64]context.CancelFunc
}

// Begin makes the context of a request, which Abandon ends.
func (r *Requests) Begin(ctx context.Context, id uint64) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels == nil {
		r.cancels = map[uint64]context.CancelFunc{}
	}
	r.cancels[id] = cancel
	return ctx
}

// Abandon ends a request, which may have been answered.
func (r *Requests) Abandon(id uint64) {
	r.mu.Lock()
	cancel := r.cancels[id]
	delete(r.cancels, id)
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Reply is the answer to a request of that id. A result that is JSON already is
// sent as it is.
func Reply(id uint64, result any, body []byte, err error) Message {
	answer := Message{Header: Header{ID: id, Op: OpReply}}
	if err != nil {
		answer.Error = ErrorOf(err)
		return answer
	}
	answer.Body = body
	if raw, ok := result.(json.RawMessage); ok {
		answer.Params = raw
	} else if result != nil {
		if answer.Params, err = json.Marshal(result); err != nil {
			answer.Error = ErrorOf(err)
		}
	}
	return answer
}

// ErrorOf is err as the other end is told it: without its cause.
func ErrorOf(err error) *Error {
	var e *berth.Error
	if !errors.As(err, &e) {
		e = berth.Errorf(berth.CodeOf(err), "%s", err.Error())
	}
	return &Error{Code: e.Code, Message: e.Message, Field: e.Field, Remediation: e.Remediation}
}
