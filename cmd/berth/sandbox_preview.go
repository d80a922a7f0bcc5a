package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
	"github.com/berth-dev/berth/shared/tunnel"
)

type previewFlags struct {
	listen, ttl string
	json        bool
}

func sandboxPreviewCommand(a *app) *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use: "preview SANDBOX|RUN PORT", Short: "Reach a port of a sandbox from this machine",
		Long: `Reach a TCP port of a sandbox, such as that of a web server in it.

Where the provider has a URL of the port for browsers (daytona, sprites, ssh with
preview_url_base), it is printed, and that is all. Whoever has it may use it.
Elsewhere a port of this machine leads to the sandbox's until this program is
interrupted, and its URL is printed. It reaches what listens on the sandbox's
loopback address, whatever network the sandbox has.`,
		Example: `  berth sandbox preview 01k5m3v9x2qg 8080
  berth sandbox preview 01k5m3v9x2qg 5432 --listen 127.0.0.1:15432`,
		Args:              previewArgs,
		ValidArgsFunction: firstOnly(a.completeReadySandboxes),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil || port < 1 || port > 65535 {
				return usagef(cmd, "the port %q must be a number from 1 to 65535", args[1])
			}
			return a.sandboxPreview(cmd.Context(), args[0], port, f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "`address:port` of this machine to lead there; port 0 is any that is free")
	cmd.Flags().StringVar(&f.ttl, "ttl", "", "let a URL of the provider's be good for this `time`, such as 30m (default: the provider's own)")
	jsonFlag(cmd, &f.json, "the url that was opened")
	return cmd
}

func previewArgs(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 2:
		return nil
	case 0:
		return usagef(cmd, "the sandbox's id and the port are missing")
	case 1:
		return usagef(cmd, "the port is missing: berth sandbox preview %s PORT", args[0])
	}
	return usagef(cmd, "there is one argument too many: %q", args[2])
}

// opened is what --json prints.
type opened struct {
	Sandbox berth.SandboxID `json:"sandbox"`
	Port    int             `json:"port"`
	URL     string          `json:"url"`
}

func (a *app) sandboxPreview(ctx context.Context, arg string, port int, f previewFlags) error {
	ttl, err := span("ttl", f.ttl)
	if err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return berth.FieldErrorf(berth.CodeInvalid, "--listen", "must be an address and a port, such as 127.0.0.1:8080")
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	sandbox, err := findSandbox(ctx, c, arg)
	if err != nil {
		return err
	}
	req := berth.PreviewRequest{Port: port, TTL: ttl}
	access, err := c.OpenPreview(ctx, sandbox.ID, req)
	if err != nil {
		return err
	}
	if access.URL != "" {
		return a.tellURL(opened{sandbox.ID, port, access.URL}, f.json)
	}
	if access.Ticket == nil {
		return berth.Errorf(berth.CodeInternal, "the server opened neither a URL nor a ticket")
	}
	// Now, and not when the first browser calls: an address that is not reachable
	// from here, and a port that nobody listens on.
	if err := a.tryTicket(ctx, *access.Ticket); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return local(err, "listening on "+f.listen)
	}
	if err := a.tellURL(opened{sandbox.ID, port, "http://" + listener.Addr().String()}, f.json); err != nil {
		listener.Close()
		return err
	}
	a.note("leads to port %d of sandbox %s; Ctrl-C ends it", port, sandbox.ID)
	w := &forward{app: a, client: c, sandbox: sandbox.ID, req: req, ticket: *access.Ticket}
	return w.serve(ctx, listener)
}

func (a *app) tellURL(o opened, asJSON bool) error {
	if asJSON {
		return a.printJSON(o)
	}
	return a.printf("%s\n", terminal.Clean(o.URL))
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

// forward leads connections of this machine to a port of a sandbox.
type forward struct {
	app     *app
	client  *client.Client
	sandbox berth.SandboxID
	req     berth.PreviewRequest

	mu     sync.Mutex // guards ticket; held while another is asked for
	ticket berth.Ticket
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
	ticket, err := w.fresh(ctx)
	if err == nil {
		var stream io.ReadWriteCloser
		if stream, err = tunnel.Dial(ctx, ticket); err == nil {
			stop := context.AfterFunc(ctx, func() { stream.Close(); conn.Close() })
			defer stop()
			channel.Join(conn, stream)
			return
		}
	}
	if ctx.Err() == nil {
		w.app.say("a connection was not made: %s", terminal.Clean(err.Error()))
	}
}

// ticketMargin is how long before its end a ticket is replaced.
const ticketMargin = time.Minute

// fresh is a ticket that is good for a while.
func (w *forward) fresh(ctx context.Context) (berth.Ticket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.app.clock.Now().Add(ticketMargin).Before(w.ticket.ExpiresAt) {
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
