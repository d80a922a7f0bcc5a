//go:build linux

package daemon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
)

// written is a server with one write, whose guest refuses everything.
func written(t *testing.T) (s *Server, p *put, end func() error) {
	t.Helper()
	s = NewServer(func() (*hostagent.Sandbox, error) { return nil, berth.Errorf(berth.CodeConflict, "no guest lives") }, nil)
	p = &put{timer: time.AfterFunc(time.Hour, func() {})}
	t.Cleanup(func() { p.timer.Stop() })
	s.puts["w"] = p
	params, err := json.Marshal(wire.Piece{Write: "w"})
	if err != nil {
		t.Fatal(err)
	}
	return s, p, func() error {
		_, err := s.doPut(t.Context(), wire.Message{Header: wire.Header{Op: wire.OpPutEnd, Params: params}})
		return err
	}
}

func TestAWriteThatIsGivenUpMeanwhileHasNotSucceeded(t *testing.T) {
	t.Parallel()
	s, p, end := written(t)
	p.mu.Lock()
	ended := make(chan error)
	go func() { ended <- end() }()
	time.Sleep(10 * time.Millisecond) // so that it waits; the answer is the same when it comes later
	if err := s.abort(t.Context(), p); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("abort: %v", err)
	}
	p.mu.Unlock()
	if err := <-ended; berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("its end: %v, want unavailable", err)
	}
}

// The first answer may have been lost with its connection.
func TestTheEndOfAWriteIsToldAgainAsItWas(t *testing.T) {
	t.Parallel()
	_, _, end := written(t)
	for range 2 {
		if err := end(); berth.CodeOf(err) != berth.CodeConflict {
			t.Errorf("its end: %v, want conflict", err)
		}
	}
}
