package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/berth-dev/berth/shared/shell"
)

// dialStdio connects to an engine as the docker client does: by what its
// counterpart on the other machine passes on.
func dialStdio(program *shell.Program) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		rw, err := program.Open(ctx, "docker system dial-stdio")
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: "ssh", Err: err}
		}
		return &stdioConn{ReadWriteCloser: rw}, nil
	}
}

// stdioConn is a connection over a program's standard input and output. It has no
// deadlines: calls to the engine end with their contexts, which close it.
type stdioConn struct{ io.ReadWriteCloser }

// Read tells why the program ended, if it knows, in place of a bare end.
func (c *stdioConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if errors.Is(err, io.EOF) && n == 0 {
		if why := c.ReadWriteCloser.Close(); why != nil {
			return 0, &net.OpError{Op: "read", Net: "ssh", Err: why}
		}
	}
	return n, err
}

// programAddr is the address at either end, of which nothing is known.
type programAddr struct{}

func (programAddr) Network() string { return "ssh" }
func (programAddr) String() string  { return "ssh" }

// LocalAddr says that it is a program.
func (*stdioConn) LocalAddr() net.Addr { return programAddr{} }

// RemoteAddr says that it is a program.
func (*stdioConn) RemoteAddr() net.Addr { return programAddr{} }

// SetDeadline does nothing.
func (*stdioConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (*stdioConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (*stdioConn) SetWriteDeadline(time.Time) error { return nil }
