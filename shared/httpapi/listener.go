package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// Listener makes requests that net/http cannot read, such as those with a bad
// escape in the path, end in a problem document: net/http answers them in plain
// text before any handler is asked. Serve the API through it.
func (a *API) Listener(l net.Listener) net.Listener { return plainSpoken{l, a} }

type plainSpoken struct {
	net.Listener
	api *API
}

func (p plainSpoken) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &plainConn{Conn: conn, api: p.api}, nil
}

type plainConn struct {
	net.Conn
	api *API
}

// What net/http writes, in one piece, when it gives up on a connection. No
// handler's answer begins so: its headers are sorted, and Date is among them.
var (
	statusLine   = []byte("HTTP/1.1 4")
	givenUp      = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	headersLarge = []byte("HTTP/1.1 431 ")
)

func (c *plainConn) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(b, statusLine) {
		return c.Conn.Write(b)
	}
	if line := bytes.IndexByte(b, '\r'); line < 0 || !bytes.HasPrefix(b[line:], givenUp) {
		return c.Conn.Write(b)
	}
	fault := berth.Errorf(berth.CodeMalformed, "the request is not well-formed: look for a bad escape in the path (%%XX is two hex digits), a bad header, or a bad Host")
	if bytes.HasPrefix(b, headersLarge) {
		fault = berth.Errorf(berth.CodeTooLarge, "the request's headers are too large")
	}
	p := problemOf(fault, c.api.cfg.IDs.NewID())
	body := p.encode()
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-Id: %s\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		p.Status, http.StatusText(p.Status), mediaProblem, p.RequestID, len(body), body)
	return len(b), err
}
