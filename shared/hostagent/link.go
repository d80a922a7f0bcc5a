//go:build linux

package hostagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

const (
	maxUnchecked = 4 // connections whose peer is not known yet
	helloLimit   = 10 * time.Second
	headerRoom   = 1 << 10     // what a message takes beside parameters and body
	callLimit    = time.Minute // for calls whose context has no deadline
)

// link is the connection to one start of a guest. The guest dials; when the
// connection drops it dials again.
type link struct {
	linkConfig
	listener *net.UnixListener
	work     sync.WaitGroup
	expected chan struct{} // closed when pid is known
	closed   chan struct{}

	mu      sync.Mutex // guards all below
	pid     int
	ended   bool // closed is closed
	conn    *wire.Conn
	ready   chan struct{} // closed while conn is there
	last    uint64
	waiting map[uint64]chan wire.Message
}

// linkConfig is what a link needs.
type linkConfig struct {
	dir     string // of the socket
	shared  bool   // other users may connect
	start   string
	unnamed bool // the guest does not know its start
	logger  Logger
	looked  func(berth.CommandID)
	hello   func() // called on each connection: notices may have been missed
}

// listen binds the socket for the guest of a start.
func listen(config linkConfig) (*link, error) {
	folder, err := os.Open(config.dir)
	if err != nil {
		return nil, fmt.Errorf("listening for a guest: %w", err)
	}
	defer folder.Close()
	listener, err := wire.Listen(folder, config.shared)
	if err != nil {
		return nil, err
	}
	l := &link{
		linkConfig: config, listener: listener,
		expected: make(chan struct{}), closed: make(chan struct{}), ready: make(chan struct{}), waiting: map[uint64]chan wire.Message{},
	}
	l.work.Go(l.accept)
	return l, nil
}

// expect names the one process that may connect.
func (l *link) expect(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pid == 0 && pid > 0 {
		l.pid = pid
		close(l.expected)
	}
}

// close ends the link: calls that wait and calls to come are unavailable.
func (l *link) close() {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.closed)
		l.listener.Close()
		if l.conn != nil {
			l.conn.Close()
		}
	}
	l.mu.Unlock()
	l.work.Wait()
}

func (l *link) accept() {
	unchecked := make(chan struct{}, maxUnchecked)
	for {
		unix, err := l.listener.AcceptUnix()
		if err != nil {
			return
		}
		select {
		case unchecked <- struct{}{}:
		case <-l.closed:
			unix.Close()
			return
		}
		l.work.Go(func() {
			conn := wire.NewConn(unix)
			defer conn.Close()
			err := l.check(conn, unix)
			<-unchecked
			if err == nil {
				err = l.serve(conn)
			}
			if err != nil {
				l.logger.Debug("guest connection ended", "sandbox_start", l.start, "error", err)
			}
		})
	}
}

// check accepts the expected process only, by the kernel's word, and its hello.
func (l *link) check(conn *wire.Conn, unix *net.UnixConn) error {
	timer := time.NewTimer(helloLimit)
	defer timer.Stop()
	select {
	case <-l.expected:
	case <-l.closed:
		return net.ErrClosed
	case <-timer.C:
		return errors.New("a process connected before the guest was known")
	}
	pid, err := conn.PeerPID()
	if err != nil {
		return err
	}
	l.mu.Lock()
	want := l.pid
	l.mu.Unlock()
	if pid == 0 || pid != want {
		return fmt.Errorf("process %d connected in place of guest %d", pid, want)
	}
	if err := unix.SetReadDeadline(time.Now().Add(helloLimit)); err != nil {
		return err
	}
	m, err := conn.Receive()
	if err != nil {
		return err
	}
	var hello wire.Hello
	if m.Op != wire.OpHello || json.Unmarshal(m.Params, &hello) != nil || hello.Version != wire.Version || hello.SandboxStart != l.start && !(l.unnamed && hello.SandboxStart == "") {
		return errors.New("the guest did not introduce itself as expected")
	}
	return unix.SetReadDeadline(time.Time{})
}

// serve hands on what the guest says until the connection ends.
func (l *link) serve(conn *wire.Conn) error {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return net.ErrClosed
	}
	if l.conn != nil {
		l.conn.Close() // the guest has left it
	} else {
		close(l.ready)
	}
	l.conn = conn
	l.mu.Unlock()
	defer l.drop(conn)
	l.hello()
	for {
		m, err := conn.Receive()
		if err != nil {
			return err
		}
		if len(m.Files) > 0 {
			return errors.New("the guest sent descriptors")
		}
		switch m.Op {
		case wire.OpLook:
			var look wire.Look
			if json.Unmarshal(m.Params, &look) == nil {
				l.looked(look.ID)
			}
		case wire.OpReply:
			l.mu.Lock()
			answer := l.waiting[m.ID]
			delete(l.waiting, m.ID)
			l.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		}
	}
}

// drop forgets conn and fails the calls that wait for its answers.
func (l *link) drop(conn *wire.Conn) {
	conn.Discard()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != conn {
		return
	}
	l.conn, l.ready = nil, make(chan struct{})
	for id, answer := range l.waiting {
		delete(l.waiting, id)
		close(answer)
	}
}

var errGone = berth.Errorf(berth.CodeUnavailable, "the sandbox does not answer")

// call asks the guest and waits for its answer, and before that for the guest to
// connect. Errors: the guest's own; unavailable when the connection or the guest
// is gone; timed_out.
func (l *link) call(ctx context.Context, op wire.Op, params any, body []byte, files ...*os.File) (wire.Message, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callLimit)
		defer cancel()
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return wire.Message{}, fmt.Errorf("encoding a request: %w", err)
	}
	if n := len(encoded) + len(body); n > wire.MaxMessage-headerRoom {
		return wire.Message{}, berth.Errorf(berth.CodeTooLarge, "the request of %d bytes is over the cap of %d", n, wire.MaxMessage-headerRoom)
	}
	conn, id, answer, err := l.begin(ctx)
	if err != nil {
		return wire.Message{}, err
	}
	if err := conn.Send(wire.Message{Header: wire.Header{ID: id, Op: op, Params: encoded}, Body: body, Files: files}); err != nil {
		l.forget(id)
		return wire.Message{}, &berth.Error{Code: berth.CodeUnavailable, Message: errGone.Message, Cause: err}
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return m, errGone
		case m.Header.Error != nil:
			return m, m.Header.Error.Berth()
		}
		return m, nil
	case <-ctx.Done():
		l.forget(id)
		_ = conn.Send(wire.Message{Header: wire.Header{ID: id, Op: wire.OpAbandon}}) // a courtesy
		return wire.Message{}, client.ContextError(ctx)
	}
}

// begin waits for a connection and takes an id.
func (l *link) begin(ctx context.Context) (*wire.Conn, uint64, chan wire.Message, error) {
	for {
		l.mu.Lock()
		if conn := l.conn; conn != nil && !l.ended {
			l.last++
			id, answer := l.last, make(chan wire.Message, 1)
			l.waiting[id] = answer
			l.mu.Unlock()
			return conn, id, answer, nil
		}
		ready := l.ready
		l.mu.Unlock()
		select {
		case <-ready:
		case <-l.closed:
			return nil, 0, nil, errGone
		case <-ctx.Done():
			return nil, 0, nil, client.ContextError(ctx)
		}
	}
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}
