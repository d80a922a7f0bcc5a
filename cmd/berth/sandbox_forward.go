package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
	"github.com/berth-dev/berth/shared/tunnel"
)

// forward leads connections of this machine to a port of a sandbox.
type forward struct {
	app     *app
	client  *client.Client
	sandbox berth.SandboxID
	req     berth.PreviewRequest

	mu     sync.Mutex // guards ticket; held while another is asked for
	ticket berth.Ticket
}

// run listens and says where, once it is known that the sandbox can be reached.
func (w *forward) run(ctx context.Context, f previewFlags) error {
	// Now, and not when the first browser calls: an address that is not reachable
	// from here, and a port that nobody listens on.
	if err := w.app.tryTicket(ctx, w.ticket); err != nil {
		return err
	}
	listener, err := listenHere(f.listen)
	if err != nil {
		return err
	}
	if err := w.app.tellURL(opened{w.sandbox, w.req.Port, "http://" + listener.Addr().String()}, f.json); err != nil {
		listener.Close()
		return err
	}
	w.app.note("leads to port %d of sandbox %s; Ctrl-C ends it", w.req.Port, w.sandbox)
	return w.serve(ctx, listener)
}

// listenHere opens a port of this machine. Error: unavailable.
func listenHere(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "listening on " + address, Cause: err,
			Remediation: "choose another port of this machine with --listen, or 0 for any that is free",
		}
	}
	return listener, nil
}

// serve takes connections until a signal, and ends those that there are then.
func (w *forward) serve(ctx context.Context, listener net.Listener) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	signals, stop := w.app.signals()
	defer stop()
	go func() {
		select {
		case <-signals:
			leave()
		case <-ctx.Done():
		}
		listener.Close()
	}()
	var work sync.WaitGroup
	defer work.Wait()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			leave()
			return local(err, "taking connections")
		}
		work.Go(func() { w.join(ctx, conn.(*net.TCPConn)) })
	}
}

// join carries one connection.
func (w *forward) join(ctx context.Context, conn *net.TCPConn) {
	defer conn.Close()
	stream, err := w.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.app.say("a connection was not made: %s", terminal.Clean(err.Error()))
		}
		return
	}
	stop := context.AfterFunc(ctx, func() { stream.Close(); conn.Close() })
	defer stop()
	channel.Join(conn, stream)
}

// dial asks for another ticket when the agent does not know the one at hand any
// more, as after its restart.
func (w *forward) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	ticket, err := w.fresh(ctx, "")
	if err != nil {
		return nil, err
	}
	stream, err := tunnel.Dial(ctx, ticket)
	if berth.CodeOf(err) != berth.CodeUnauthenticated {
		return stream, err
	}
	if ticket, err = w.fresh(ctx, ticket.Value); err != nil {
		return nil, err
	}
	return tunnel.Dial(ctx, ticket)
}

// ticketMargin is how long before its end a ticket is replaced.
const ticketMargin = time.Minute

// fresh is a ticket that is good for a while, and not the one that was refused.
func (w *forward) fresh(ctx context.Context, refused string) (berth.Ticket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ticket.Value != refused && w.app.clock.Now().Add(ticketMargin).Before(w.ticket.ExpiresAt) {
		return w.ticket, nil
	}
	access, err := w.client.OpenPreview(ctx, w.sandbox, w.req)
	if err == nil && access.Ticket == nil {
		err = fmt.Errorf("the server has no ticket for port %d any more", w.req.Port)
	}
	if err != nil {
		return w.ticket, err
	}
	w.ticket = *access.Ticket
	return w.ticket, nil
}

// tryTicket says what is wrong; that nobody listens yet is only noted.
func (a *app) tryTicket(ctx context.Context, ticket berth.Ticket) error {
	stream, err := tunnel.Dial(ctx, ticket)
	if err == nil {
		return stream.Close()
	}
	var said *berth.Error
	if errors.As(err, &said) && said.Field == "port" {
		a.note("%s yet", terminal.Clean(said.Message))
		return nil
	}
	return err
}
