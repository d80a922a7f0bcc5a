package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// link is one connection to a daemon.
type link struct {
	stream *wire.Stream
	daemon string
	heard  atomic.Int64  // when the daemon said something last, in nanoseconds since the epoch
	gone   chan struct{} // closed when the connection has ended

	mu      sync.Mutex // guards all below
	last    uint64
	waiting map[uint64]chan wire.Message
	used    time.Time // when the last request ended
}

// errBroken says that the connection ended before the answer came.
var errBroken = errors.New("the connection to the sandbox ended")

// newLink waits for the daemon's hello. It takes over rw.
func newLink(ctx context.Context, rw io.ReadWriteCloser) (*link, error) {
	l := &link{stream: wire.NewStream(rw), gone: make(chan struct{}), waiting: map[uint64]chan wire.Message{}, used: time.Now()}
	l.hear()
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	m, err := l.stream.Receive()
	if !stop() {
		return nil, client.ContextError(ctx)
	}
	var hello wire.FarHello
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errBroken, err)
	case m.Op != wire.OpHello:
		err = berth.Errorf(berth.CodeUnavailable, "what answered is no daemon of a sandbox")
	case m.Error != nil:
		err = m.Error.Berth()
	case json.Unmarshal(m.Params, &hello) != nil || hello.Version != wire.FarVersion:
		err = berth.Errorf(berth.CodeUnavailable, "the sandbox's daemon speaks version %d, and this berth %d", hello.Version, wire.FarVersion)
	}
	if err != nil {
		rw.Close()
		return nil, err
	}
	l.daemon = hello.Daemon
	go l.receive()
	go l.watch()
	return l, nil
}

func (l *link) hear() { l.heard.Store(time.Now().UnixNano()) }

// receive hands out answers until the connection ends.
func (l *link) receive() {
	for {
		m, err := l.stream.Receive()
		if err != nil {
			break
		}
		l.hear()
		l.mu.Lock()
		answer := l.waiting[m.ID]
		delete(l.waiting, m.ID)
		l.mu.Unlock()
		if answer != nil && m.Op == wire.OpReply {
			answer <- m
		}
	}
	l.stream.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.gone)
	for id, answer := range l.waiting {
		delete(l.waiting, id)
		close(answer)
	}
}

const (
	pingEvery   = 10 * time.Second
	silentLimit = 30 * time.Second
	idleLimit   = 2 * time.Minute
)

// watch ends a connection that has gone silent while answers are due, and one
// that nobody uses. What still waits for an answer is asked again elsewhere.
func (l *link) watch() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		waiting, idle := len(l.waiting) > 0, time.Since(l.used)
		l.mu.Unlock()
		silent := time.Since(time.Unix(0, l.heard.Load()))
		if waiting && silent > silentLimit || !waiting && idle > idleLimit {
			l.stream.Close()
			return
		}
		if waiting {
			// In a goroutine: a connection that takes nothing must not hold the watch.
			go func() { _ = l.stream.Send(wire.Message{Header: wire.Header{Op: wire.OpPing}}) }()
		}
	}
}

func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// call asks and waits. Errors: the daemon's own; errBroken; timed_out.
func (l *link) call(ctx context.Context, op wire.Op, params json.RawMessage, body []byte) (wire.Message, error) {
	id, answer, err := l.begin()
	if err != nil {
		return wire.Message{}, err
	}
	sent := make(chan error, 1)
	go func() {
		sent <- l.stream.Send(wire.Message{Header: wire.Header{ID: id, Op: op, Params: params}, Body: body})
	}()
	for {
		select {
		case err := <-sent:
			if err != nil {
				l.forget(id)
				return wire.Message{}, fmt.Errorf("%w: %w", errBroken, err)
			}
			sent = nil
		case m, ok := <-answer:
			l.touch()
			switch {
			case !ok:
				return m, errBroken
			case m.Error != nil:
				return m, m.Error.Berth()
			}
			return m, nil
		case <-ctx.Done():
			l.forget(id)
			go func() { _ = l.stream.Send(wire.Message{Header: wire.Header{ID: id, Op: wire.OpAbandon}}) }()
			return wire.Message{}, client.ContextError(ctx)
		}
	}
}

func (l *link) begin() (uint64, chan wire.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gone:
		return 0, nil, errBroken
	default:
	}
	l.last++
	answer := make(chan wire.Message, 1)
	if len(l.waiting) == 0 {
		l.hear() // silence counts from the first question
	}
	l.waiting[l.last] = answer
	return l.last, answer, nil
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
	l.used = time.Now()
}

func (l *link) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = time.Now()
}
