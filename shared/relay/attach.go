package relay

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// openEvery is the pause before a session is asked for again whose opening, or
// the answer to it, may have been lost among others' bytes.
const openEvery = 2 * time.Second

// Attach opens a session over pipes of which others may use the same ends, such
// as the attached standard input and output of process 1 of a container, and
// returns its stream. Every earlier session is over then. start names the start
// of the sandbox that is meant. It takes over rw. Errors: conflict for another
// start; unavailable.
func Attach(ctx context.Context, rw io.ReadWriteCloser, start string) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	a := &attached{from: rw, begun: make(chan struct{}), refused: make(chan error, 1), ended: make(chan struct{})}
	out := wire.NewPacketWriter(rw)
	a.Session = wire.NewSession(binary.BigEndian.Uint64(random[:]), out, func() { rw.Close() })
	go a.receive()
	open := func() {
		if out.Tell(a.ID(), wire.PacketOpen, wire.Opening{Start: start}) != nil {
			rw.Close() // which ends receive
		}
	}
	tick := time.NewTicker(openEvery)
	defer tick.Stop()
	for {
		go open() // a stream that takes nothing must not hold this up
		select {
		case <-a.begun:
			return a, nil
		case err := <-a.refused:
			rw.Close()
			return nil, err
		case <-a.ended:
			rw.Close()
			e := &berth.Error{Code: berth.CodeUnavailable, Message: "the stream to the sandbox ended before its guest answered", Cause: a.why}
			if a.why != nil && !errors.Is(a.why, io.EOF) {
				e.Message += ": " + a.why.Error()
			}
			return nil, e
		case <-ctx.Done():
			rw.Close()
			return nil, client.ContextError(ctx)
		case <-tick.C:
		}
	}
}

// attached is the client's end of a session.
type attached struct {
	*wire.Session
	from    io.Reader
	once    sync.Once
	begun   chan struct{} // closed when the daemon has said so
	refused chan error
	ended   chan struct{} // closed when nothing more comes
	why     error         // set before that, when the stream was cut
}

// receive hands out what is the session's own.
func (a *attached) receive() {
	defer close(a.ended)
	defer a.Ended()
	in := wire.NewPacketReader(a.from)
	for {
		p, err := in.Next()
		if err != nil {
			a.why = err
			return
		}
		if p.Session != a.ID() {
			continue
		}
		switch p.Kind {
		case wire.PacketOpened:
			a.once.Do(func() { close(a.begun) })
		case wire.PacketRefused:
			var refused wire.Error
			if json.Unmarshal(p.Data, &refused) == nil && refused.Code != "" {
				select {
				case a.refused <- refused.Berth():
				default:
				}
			}
		case wire.PacketData:
			a.Take(p)
		case wire.PacketClose:
			return
		}
	}
}
