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
// handler's answer begins so: its headers are sorted, and Date is among them; and
// no code of an error has the status of an expectation.
var (
	statusLine   = []byte("HTTP/1.1 ")
	givenUp      = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	headersLarge = []byte("HTTP/1.1 431 ")
	expectation  = []byte("HTTP/1.1 417 ")
	encoding     = []byte("HTTP/1.1 501 ")
	version      = []byte("HTTP/1.1 505 ")
)

// faultOf is why net/http writes b by itself; nil when a handler does.
func faultOf(b []byte) *berth.Error {
	if bytes.HasPrefix(b, expectation) {
		return berth.FieldErrorf(berth.CodeMalformed, "header.Expect", "must be 100-continue or absent")
	}
	if line := bytes.IndexByte(b, '\r'); !bytes.HasPrefix(b, statusLine) || line < 0 || !bytes.HasPrefix(b[line:], givenUp) {
		return nil
	}
	switch {
	case bytes.HasPrefix(b, headersLarge):
		return berth.Errorf(berth.CodeTooLarge, "the request's headers are too large")
	case bytes.HasPrefix(b, encoding):
		return berth.FieldErrorf(berth.CodeMalformed, "header.Transfer-Encoding", "must be chunked or absent")
	case bytes.HasPrefix(b, version):
		return berth.Errorf(berth.CodeMalformed, "the request is of another version than HTTP/1.0 and HTTP/1.1")
	}
	return berth.Errorf(berth.CodeMalformed, "the request is not well-formed: look for a bad escape in the path (%%XX is two hex digits), a bad header, or a bad Host")
}

func (c *plainConn) Write(b []byte) (int, error) {
	fault := faultOf(b)
	if fault == nil {
		return c.Conn.Write(b)
	}
	p := problemOf(fault, c.api.cfg.IDs.NewID())
	body := p.encode()
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-Id: %s\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		p.Status, http.StatusText(p.Status), mediaProblem, p.RequestID, len(body), body)
	return len(b), err
}
