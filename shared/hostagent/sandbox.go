//go:build linux

package hostagent

import (
	"context"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// SandboxConfig says where a sandbox's things are on this machine.
type SandboxConfig struct {
	// SocketDir is the folder that the guest sees.
	SocketDir string
	// SpoolDir is outside of what the guest sees.
	SpoolDir string
	Logger   Logger
	// Shared opens the socket to other users: a guest may be another one.
	Shared bool
	// NamesStarts says that the guest is not told the name of its start.
	NamesStarts bool
	// LostExit is the exit of commands of a start that has ended before they did;
	// nil is a plain one.
	LostExit func(start string) *berth.Exit
	// Oversize is called when a command's spool is past its cap by more than a
	// guest in its senses would write. The sandbox is to be destroyed, but not
	// within the call.
	Oversize func(berth.CommandID)
}

// Sandbox is a guest and its spools. Its commands and files work as
// berth.Provider says. It is safe for concurrent use.
type Sandbox struct {
	config SandboxConfig
	spools *spools

	mu    sync.Mutex // guards all below
	start string
	link  *link // nil while no guest is expected
}

// OpenSandbox makes the folders if need be. No guest is expected yet; finished
// commands can be read.
func OpenSandbox(config SandboxConfig) (*Sandbox, error) {
	if config.Logger == nil {
		config.Logger = Silent{}
	}
	s := &Sandbox{config: config, spools: newSpools(config.SpoolDir)}
	if err := os.MkdirAll(config.SpoolDir, 0o700); err != nil {
		return nil, DiskError("making a sandbox's folder", err)
	}
	return s, s.makeSocketDir()
}

// makeSocketDir makes the folder that the guest sees.
func (s *Sandbox) makeSocketDir() error {
	mode := os.FileMode(0o700)
	if s.config.Shared {
		mode = 0o755
	}
	err := os.MkdirAll(s.config.SocketDir, mode)
	if err == nil && s.config.Shared {
		err = os.Chmod(s.config.SocketDir, mode) // whatever the umask took
	}
	return DiskError("making a sandbox's folder", err)
}

// Listen begins to wait for the guest of the named start. Commands of another
// start that have no exit are lost.
func (s *Sandbox) Listen(start string) error {
	s.End()
	if err := s.makeSocketDir(); err != nil {
		return err
	}
	l, err := listen(linkConfig{
		dir: s.config.SocketDir, shared: s.config.Shared, start: start, unnamed: s.config.NamesStarts,
		logger: s.config.Logger, looked: s.looked, hello: s.spools.lookAll,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.link = start, l
	return nil
}

// Expect names the process that is the guest; no other may connect. Process 0 is
// nobody: it is what a peer in another namespace looks like.
func (s *Sandbox) Expect(pid int) {
	if l, err := s.guest(); err == nil {
		l.expect(pid)
	}
}

// End says that the guest's process is gone: its commands that have no exit are
// lost.
func (s *Sandbox) End() {
	s.mu.Lock()
	l := s.link
	s.link, s.start = nil, ""
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
	s.spools.lookAll()
}

// Close lets go of the guest, which goes on without us. Readers that wait are
// answered when their time is over.
func (s *Sandbox) Close() {
	if l, err := s.guest(); err == nil {
		l.close()
	}
}

func (s *Sandbox) guest() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil, errNotRunning
	}
	return s.link, nil
}

var errNotRunning = berth.Errorf(berth.CodeConflict, "the sandbox is not running")

// liveStart is the name of the start whose guest lives; empty when none does.
func (s *Sandbox) liveStart() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start
}

func (s *Sandbox) looked(id berth.CommandID) {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return // a guest in its senses does not say that
	}
	if s.config.Oversize != nil && s.spools.oversize(id) {
		s.config.Oversize(id)
	}
	s.spools.look(id)
}

// Probe waits until bash in the sandbox has answered. Errors: invalid with what
// is wrong with it; unavailable; timed_out.
func (s *Sandbox) Probe(ctx context.Context) error {
	return s.ask(ctx, wire.OpProbe, wire.Probe{}, nil)
}

// ProbeMounts is Probe, and tells who commands run as and which files are at the
// paths in the sandbox.
func (s *Sandbox) ProbeMounts(ctx context.Context, paths []string) (said wire.Probed, err error) {
	err = s.ask(ctx, wire.OpProbe, wire.Probe{Mounts: wire.Texts(paths)}, &said)
	return said, err
}

// Stop ends all commands and the guest, and returns when it is about to be gone.
func (s *Sandbox) Stop(ctx context.Context) error {
	return s.ask(ctx, wire.OpStop, nil, nil)
}

// ask calls the guest; result, when not nil, takes the answer's parameters.
func (s *Sandbox) ask(ctx context.Context, op wire.Op, params, result any) error {
	_, err := s.askWith(ctx, op, params, nil, result)
	return err
}
