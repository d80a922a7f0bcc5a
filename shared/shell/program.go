package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// ProgramConfig says how the OpenSSH client is used.
type ProgramConfig struct {
	// Destination is user@host, a host or an alias of the configuration.
	Destination string
	// Port is that of the configuration, or 22, when empty.
	Port string
	// ConfigFile replaces the user's own configuration when it is set.
	ConfigFile string
	// Path is the program; ssh of PATH when empty.
	Path string
	// Options are further ones, NAME=value; they win over the configuration.
	Options []string
	// AcceptNew takes the key of a host that is not known, and keeps to it from then on.
	AcceptNew bool
}

// Program is the OpenSSH client program. One connection is kept for all command
// lines; a line that finds none makes one of its own.
type Program struct {
	config ProgramConfig
	folder folder // of the kept connection's socket

	mu     sync.Mutex // guards all below
	master *master
	closed bool
}

var _ relay.Shell = (*Program)(nil)

// NewProgram connects when it is used first. Error: unavailable when there is no
// such program.
func NewProgram(config ProgramConfig) (*Program, error) {
	if config.Path == "" {
		config.Path = "ssh"
	}
	path, err := exec.LookPath(config.Path)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the OpenSSH client is not installed on the server", Cause: err,
			Remediation: "Install it (Debian, Ubuntu: apt-get install openssh-client).",
		}
	}
	config.Path = path
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	return &Program{config: config, folder: dir}, nil
}

// Close ends the kept connection, and with it what goes over it.
func (p *Program) Close() error {
	p.mu.Lock()
	m := p.master
	p.master, p.closed = nil, true
	p.mu.Unlock()
	if m != nil {
		m.stop()
	}
	return p.folder.remove()
}

// args are the program's, up to the destination and without what to run. What
// asks a person, forwards something or runs something here is off.
func (p *Program) args(master string) []string {
	checking := "yes"
	if p.config.AcceptNew {
		checking = "accept-new"
	}
	args := []string{
		"-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=" + checking, "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=10",
		"-o", "ServerAliveCountMax=3", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
		"-o", "EscapeChar=none", "-o", "ControlMaster=" + master, "-o", "ControlPath=" + p.socket(), "-o", "LogLevel=ERROR",
	}
	if p.config.ConfigFile != "" {
		args = append(args, "-F", p.config.ConfigFile)
	}
	if p.config.Port != "" {
		args = append(args, "-p", p.config.Port)
	}
	for _, option := range p.config.Options {
		args = append(args, "-o", option)
	}
	return args
}

// socket is where the kept connection listens; none where its path is longer than
// sockets can have, or has what the program would read as more than a path.
func (p *Program) socket() string {
	const longest = 80
	path := filepath.Join(p.folder.path, "s")
	if runtime.GOOS == "windows" || len(path) > longest || strings.ContainsFunc(path, notOfPaths) {
		return "none"
	}
	return path
}

func notOfPaths(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+", r)
}

// command is the program; master says whether it keeps the connection for others.
func (p *Program) command(master string, more ...string) *exec.Cmd {
	args := append(p.args(master), more...)
	cmd := exec.Command(p.config.Path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C") // its words tell what went wrong
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// sshFailed is the status with which the program ends when it has no connection.
const sshFailed = 255

// Run runs line to its end.
func (p *Program) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	if err := p.keep(ctx); err != nil {
		return nil, err
	}
	cmd := p.command("no", "--", p.config.Destination, line)
	stdout, stderr := &tail{most: maxOutput}, &tail{most: maxStderr}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the OpenSSH client: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !stop() {
		return nil, contextError(ctx)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.whole()
	case errors.As(err, &exit) && exit.ExitCode() >= 0 && exit.ExitCode() != sshFailed:
		return stdout.Bytes(), &relay.StatusError{Status: exit.ExitCode(), Stderr: stderr.String()}
	}
	return nil, failure(p.config.Destination, stderr.String(), err)
}

const (
	maxOutput = 4 << 20
	maxStderr = 16 << 10
)

// Open connects a stream to line.
func (p *Program) Open(ctx context.Context, line string) (io.ReadWriteCloser, error) {
	if err := p.keep(ctx); err != nil {
		return nil, err
	}
	s := &programStream{program: p, cmd: p.command("no", "--", p.config.Destination, line), stderr: &tail{most: maxStderr}}
	s.cmd.Stderr = s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.Reader, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the OpenSSH client: %w", err)
	}
	return s, nil
}

// programStream is a stream over the program's standard input and output.
type programStream struct {
	io.Reader
	program *Program
	cmd     *exec.Cmd
	in      io.WriteCloser
	stderr  *tail
	once    sync.Once
	err     error
}

func (s *programStream) Write(b []byte) (int, error) { return s.in.Write(b) }

// Close ends the stream. When the program had no connection, the error says why.
func (s *programStream) Close() error {
	s.once.Do(func() {
		_ = s.in.Close()
		// It has ended by itself only when it failed.
		timer := time.AfterFunc(closeGrace, func() { _ = s.cmd.Process.Kill() })
		defer timer.Stop()
		err := s.cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == sshFailed {
			s.err = failure(s.program.config.Destination, s.stderr.String(), err)
		}
	})
	return s.err
}

// closeGrace is the time for the far end to see that its input has ended.
const closeGrace = 200 * time.Millisecond

func contextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &berth.Error{Code: berth.CodeTimedOut, Message: "the machine did not answer in time", Cause: ctx.Err()}
	}
	return ctx.Err()
}

// tail keeps the end of what is written to it.
type tail struct {
	most int

	mu      sync.Mutex // guards what follows
	kept    []byte
	written int64
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.written = append(t.kept, b...), t.written+int64(len(b))
	if len(t.kept) > 2*t.most {
		t.kept = append(t.kept[:0:0], t.kept[len(t.kept)-t.most:]...)
	}
	return len(b), nil
}

func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.kept[max(0, len(t.kept)-t.most):]...)
}

// whole is everything that was written. Error: too_large when that is more than
// is kept, as an answer without its beginning would pass for another one.
func (t *tail) whole() ([]byte, error) {
	b := t.Bytes()
	if int64(len(b)) < t.written {
		return nil, berth.Errorf(berth.CodeTooLarge, "the machine answered %d bytes, more than the %d that are taken", t.written, t.most)
	}
	return b, nil
}

func (t *tail) String() string { return string(t.Bytes()) }
