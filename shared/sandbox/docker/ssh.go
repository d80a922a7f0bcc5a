package docker

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// sshOptions connect to an engine as the docker client does: by what its
// counterpart on the other machine, `docker system dial-stdio`, passes on. The
// OpenSSH client does the rest by its own configuration.
func sshOptions(host string) ([]client.Opt, error) {
	args, err := sshArgs(host)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialProgram(ctx, "ssh", args) }
	return []client.Opt{client.WithHost("http://docker.example.com"), client.WithDialContext(dial)}, nil
}

// sshArgs are the arguments of ssh for ssh://USER@HOST:PORT. Error: invalid.
func sshArgs(host string) ([]string, error) {
	u, err := url.Parse(host)
	switch {
	case err != nil:
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s", err.Error())
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s names no machine", host)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s has more than user, machine and port", host)
	}
	args := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-T"}
	if u.User != nil {
		if _, set := u.User.Password(); set {
			return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "must not hold a password: use a key")
		}
		args = append(args, "-l", u.User.Username())
	}
	if port := u.Port(); port != "" {
		args = append(args, "-p", port)
	}
	return append(args, "--", u.Hostname(), "docker", "system", "dial-stdio"), nil
}

// programConn is a connection over a program's standard input and output. The
// program is ended with it.
type programConn struct {
	io.Reader
	io.Writer
	in       io.Closer
	cmd      *exec.Cmd
	complain *complaint
	once     sync.Once
}

func dialProgram(ctx context.Context, name string, args []string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &programConn{Reader: out, Writer: in, in: in, cmd: cmd, complain: &complaint{}}
	cmd.Stderr = c.complain
	if err := cmd.Start(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: name, Err: err}
	}
	return c, nil
}

// Read tells what the program complained about in place of a bare end.
func (c *programConn) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF && n == 0 {
		if text := c.complain.text(); text != "" {
			return 0, &net.OpError{Op: "read", Net: c.cmd.Args[0], Err: errText(text)}
		}
	}
	return n, err
}

func (c *programConn) Close() error {
	c.once.Do(func() {
		_ = c.in.Close()
		_ = c.cmd.Process.Kill() // it may have ended
		_ = c.cmd.Wait()
	})
	return nil
}

// CloseWrite ends what is sent, and not what comes.
func (c *programConn) CloseWrite() error { return c.in.Close() }

type errText string

func (e errText) Error() string { return string(e) }

// maxComplaint bounds what is kept of a standard error, in bytes.
const maxComplaint = 2000

// tail keeps the end of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxComplaint):]
	return len(p), nil
}

// complaint keeps the end of a program's standard error.
type complaint struct {
	mu sync.Mutex // guards end
	tail
}

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail.Write(p)
}

func (c *complaint) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(bytes.TrimSpace(c.tail.text))
}

// programAddr is the address at either end, of which nothing is known.
type programAddr struct{}

func (programAddr) Network() string { return "program" }
func (programAddr) String() string  { return "ssh" }

// LocalAddr and the next ones are what a connection has to have; a program's
// pipes have no deadlines, and calls to the engine end with their contexts.
func (*programConn) LocalAddr() net.Addr { return programAddr{} }

// RemoteAddr says that it is a program.
func (*programConn) RemoteAddr() net.Addr { return programAddr{} }

// SetDeadline does nothing.
func (*programConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (*programConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (*programConn) SetWriteDeadline(time.Time) error { return nil }
