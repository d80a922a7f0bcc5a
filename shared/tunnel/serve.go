package tunnel

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// Header carries the ticket. A web page cannot set it on a WebSocket.
	Header = "Berth-Ticket"
	// protocol is the version of what goes over the WebSocket.
	protocol = "berth-stream-1"
	// openTime is how long a shell or a connection may take to begin.
	openTime = 30 * time.Second
)

// Serve opens the stream that the request's ticket is for and carries it until
// either side ends it. An error is the caller's to answer; nothing has been
// written then. Errors: unauthenticated; malformed for a request that is no
// WebSocket; those of the opener.
func (t *Tickets) Serve(w http.ResponseWriter, r *http.Request) error {
	if err := upgradable(r); err != nil {
		return err // and the ticket is still good
	}
	held, done, err := t.redeem(r.Header.Get(Header))
	if err != nil {
		return err
	}
	defer done()
	stream, err := t.begin(r.Context(), held)
	if err != nil {
		return err
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil { // it has been answered
		stream.Close()
		return nil
	}
	conn := newConn(ws)
	defer t.onEnd(func() { // without a word to a client that may not listen
		ws.CloseNow()
		stream.Close()
	})()
	carry(conn, stream)
	return nil
}

// begin opens the stream of a ticket, unless that takes too long or all ends.
func (t *Tickets) begin(ctx context.Context, held *ticket) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	defer t.onEnd(cancel)()
	return held.open(ctx, held.spec)
}

// upgradable refuses what websocket.Accept would answer in its own words.
func upgradable(r *http.Request) error {
	h := r.Header
	if r.Header.Get("Origin") != "" {
		return berth.FieldErrorf(berth.CodeForbidden, "header.Origin", "web pages may not open streams")
	}
	if !tokenIn(h, "Connection", "upgrade") || !tokenIn(h, "Upgrade", "websocket") || h.Get("Sec-WebSocket-Version") != "13" ||
		h.Get("Sec-WebSocket-Key") == "" || !tokenIn(h, "Sec-WebSocket-Protocol", protocol) || r.ProtoMajor != 1 {
		return berth.Errorf(berth.CodeMalformed, "streams are opened with a WebSocket of the protocol %s over HTTP/1.1", protocol)
	}
	return nil
}

// carry copies both ways until one side has ended, and closes both. What a guest
// says before its end reaches the client.
func carry(client *conn, guest io.ReadWriteCloser) {
	var work sync.WaitGroup
	work.Go(func() {
		_, _ = io.CopyBuffer(guest, client, make([]byte, copyBytes))
		guest.Close() // the client hangs up
	})
	_, _ = io.CopyBuffer(client, guest, make([]byte, copyBytes))
	client.Close()
	guest.Close()
	work.Wait()
}
