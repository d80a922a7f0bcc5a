//go:build linux

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
)

// engine is the Docker engine. Every call to it has a deadline, and its errors
// have codes.
type engine struct {
	api     *Client
	host    string // its address
	socket  string // path of its socket, links resolved; empty when it has none here
	timeout time.Duration

	mu   sync.Mutex // guards arch
	arch string
}

func openEngine(config Config) (*engine, error) {
	host := config.Host
	if host == "" {
		host = os.Getenv(client.EnvOverrideHost)
	}
	if host == "" {
		host = client.DefaultDockerHost
	}
	api, err := NewClient(host, config.SSHConfig)
	if err != nil {
		return nil, err
	}
	path, local := strings.CutPrefix(host, "unix://")
	if !local {
		path = ""
	} else if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return &engine{api: api, host: host, socket: path, timeout: config.CallTimeout}, nil
}

const (
	// nearLimit and farLimit are how long an engine may take to say that it is there:
	// one of this machine, and one elsewhere, whose connection may be by ssh.
	nearLimit = 5 * time.Second
	farLimit  = 15 * time.Second
)

func (e *engine) answerLimit() time.Duration {
	if e.socket == "" {
		return min(farLimit, e.timeout)
	}
	return min(nearLimit, e.timeout)
}

// ping asks whether the engine is there, and settles the version of its API.
func (e *engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.answerLimit())
	defer cancel()
	said, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err != nil {
		return e.placed(engineError("", err))
	}
	if said.OSType != "" && said.OSType != "linux" {
		return berth.Errorf(berth.CodeUnsupported, "the Docker engine runs %s containers; berth needs linux ones", said.OSType)
	}
	return nil
}

// process finds the engine's process. It is nobody's where the engine accepts no
// connection, as one does that is being stopped although it goes on answering
// over those that it has. Where somebody else listens for the engine, that
// process stays the same.
func (e *engine) process() (p proctree.Process, accepts bool) {
	if e.socket == "" {
		return p, false
	}
	conn, err := net.DialTimeout("unix", e.socket, e.answerLimit())
	if err != nil {
		return p, false
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return p, false
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p, _ = proctree.Read(int(peer.Pid))
		}
	})
	return p, true
}

// accepts reports whether the engine answers over a new connection. One that is
// being stopped goes on for a while over those that it has.
func (e *engine) accepts() bool {
	ctx, cancel := context.WithTimeout(context.Background(), e.answerLimit())
	defer cancel()
	conn, err := e.api.Dialer()(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // also where connections have no deadlines
	request, err := http.NewRequest(http.MethodGet, "http://docker.example.com/_ping", nil)
	if err != nil || request.Write(conn) != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// restartTime is how long after its start an engine may end what it finds.
const restartTime = 30 * time.Second

// took reports whether a container that was started by the engine of another
// process, and ended at that time, ended with its engine.
func (e *engine) took(by string, at time.Time) bool {
	if e.socket == "" {
		return !e.accepts()
	}
	p, accepts := e.process()
	if !accepts {
		return true
	}
	now, err := proctree.Now()
	if err != nil || by == "" || by == processName(p) {
		return false
	}
	const tick = 10 * time.Millisecond
	started := time.Now().Add(-time.Duration(now-p.StartTime) * tick)
	return at.Before(started.Add(restartTime))
}

// processName tells a process from every other of this start of the machine.
func processName(p proctree.Process) string { return fmt.Sprintf("%d:%d", p.PID, p.StartTime) }

// call bounds one call to the engine.
func (e *engine) call(ctx context.Context, doing string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return e.placed(engineError(doing, f(ctx)))
}

const toStart = "Start Docker on the server: systemctl start docker."

// placed names the engine in what is to be done about it, where it is on another
// machine.
func (e *engine) placed(err error) error {
	coded, direct := err.(*berth.Error) //nolint:errorlint // as engineError makes it
	if !direct || e.socket != "" || coded.Code != berth.CodeUnavailable {
		return err
	}
	if coded.Remediation != "" && coded.Remediation != toStart {
		return err
	}
	far := *coded
	far.Remediation = "Look whether the engine at " + e.host + " runs and can be reached from the server."
	return &far
}

// engineError gives an error of the client a code. Errors: not_found, conflict,
// invalid; unavailable when the engine does not answer or is not there; else
// internal with the engine's words.
func engineError(doing string, err error) error {
	var coded *berth.Error
	var network net.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	fault := func(code berth.Code, message, remediation string) error {
		if doing != "" {
			message = doing + ": " + message
		}
		return &berth.Error{Code: code, Message: message, Remediation: remediation, Cause: err}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return berth.Wrap(err, doing)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fault(berth.CodeUnavailable, "the Docker engine did not answer in time", "")
	case errors.Is(err, os.ErrPermission):
		return fault(berth.CodeUnavailable, "this user may not use the Docker engine", "Add the user that runs berth serve to the group docker, or run berth serve as root.")
	case refusedCertificate(err):
		return fault(berth.CodeUnavailable, "the Docker engine refuses the connection: "+said(err), "Look at cert.pem and key.pem in the folder that DOCKER_CERT_PATH names.")
	case client.IsErrConnectionFailed(err), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault(berth.CodeUnavailable, "the Docker engine does not answer", toStart)
	case cerrdefs.IsNotFound(err):
		return fault(berth.CodeNotFound, said(err), "")
	case cerrdefs.IsConflict(err):
		return fault(berth.CodeConflict, said(err), "")
	case cerrdefs.IsInvalidArgument(err):
		return fault(berth.CodeInvalid, said(err), "")
	case cerrdefs.IsUnavailable(err):
		return fault(berth.CodeUnavailable, said(err), "")
	}
	return fault(berth.CodeInternal, said(err), "")
}

// maxSaid bounds what is passed on of an engine's words, in bytes.
const maxSaid = 500

// said is what the engine says, without the client's preface.
func said(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "…"
	}
	return text
}
