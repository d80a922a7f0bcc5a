//go:build linux

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
	"github.com/berth-dev/berth/shared/sandbox/local"
)

// sandbox is the one sandbox of a folder: a local one of this machine. While it
// is ready, its workspace is locked against a second run by accident.
type sandbox struct {
	config   Config
	provider *local.Provider
	ref      berth.SandboxRef

	mu   sync.Mutex // one change at a time; guards lock
	lock *os.File   // the workspace, nil while it is not locked
}

// openSandbox takes up what an earlier daemon left.
func openSandbox(config Config) (*sandbox, error) {
	provider, err := local.New(local.Config{
		Root: filepath.Join(config.Root, sandboxesName), GuestPath: config.Program, Installation: config.Installation,
		Unfiltered: config.Unfiltered, Environ: config.Environ, Logger: config.Logger,
	})
	if err != nil {
		return nil, err
	}
	s := &sandbox{config: config, provider: provider, ref: berth.SandboxRef{ID: config.Sandbox}}
	if state, err := provider.Describe(context.Background(), s.ref); err == nil && state.Status == berth.SandboxReady {
		if err := s.take(state.Workspace); err != nil {
			config.Logger.Warn("the workspace could not be locked again", "error", err)
		}
	}
	return s, nil
}

func (s *sandbox) agent() (*hostagent.Sandbox, error) { return s.provider.Find(s.ref) }

// Provision makes the sandbox, or returns the one that is there.
func (s *sandbox) Provision(ctx context.Context, p wire.Provision) (berth.SandboxState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.config.underHome(string(p.Directory))
	if p.Make {
		// What stands in its way is told by the provider in its own words.
		_ = os.MkdirAll(dir, 0o755)
	}
	if reason := s.takeOr(dir); reason != nil {
		return berth.SandboxState{ID: s.ref.ID, Run: p.Run, Status: berth.SandboxFailed, Reason: reason}, nil
	}
	state, err := s.provider.Provision(ctx, berth.SandboxSpec{ID: s.ref.ID, Installation: s.config.Installation, Run: p.Run, Directory: dir})
	if err != nil || state.Status != berth.SandboxReady {
		s.release()
	}
	return state, err
}

// underHome makes a directory that begins with ~ absolute, as a shell does.
func (c Config) underHome(dir string) string {
	if rest, found := strings.CutPrefix(dir, "~"); found && (rest == "" || rest[0] == '/') {
		for _, entry := range c.Environ {
			if home, found := strings.CutPrefix(entry, "HOME="); found && filepath.IsAbs(home) {
				return filepath.Join(home, rest)
			}
		}
	}
	return dir
}

// Describe is what is known of the sandbox now.
func (s *sandbox) Describe(ctx context.Context) (berth.SandboxState, error) {
	return s.provider.Describe(ctx, s.ref)
}

// Halt ends all commands and keeps the files.
func (s *sandbox) Halt(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.provider.Stop(ctx, s.ref); err != nil {
		return err
	}
	s.release()
	return nil
}

// Resume makes the sandbox ready again. Error: conflict when another run has
// taken the workspace since.
func (s *sandbox) Resume(ctx context.Context) (berth.SandboxState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := s.provider.Describe(ctx, s.ref)
	if err != nil {
		return state, err
	}
	if reason := s.takeOr(state.Workspace); reason != nil && state.Status != berth.SandboxGone {
		return state, &berth.Error{Code: berth.CodeConflict, Message: reason.Message, Remediation: reason.Remediation}
	}
	return s.provider.Start(ctx, s.ref)
}

// Destroy ends every process of the sandbox and removes the folder.
func (s *sandbox) Destroy(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.provider.Destroy(ctx, s.ref); err != nil {
		return err
	}
	s.release()
	return berth.Wrap(os.RemoveAll(s.config.Root), "removing a sandbox's folder")
}

// takeOr says why the workspace cannot be taken. What is no directory is left to
// the provider to refuse.
func (s *sandbox) takeOr(dir string) *berth.Reason {
	err := s.take(dir)
	if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	return &berth.Reason{
		Code: berth.ReasonProvisionFailed, Message: fmt.Sprintf("another sandbox uses the directory %q now", dir),
		Remediation: "Wait until its run has ended, destroy it, or name another working directory.",
	}
}

// take locks dir for this sandbox. The kernel lets go of it when this process
// ends, and another daemon of the same sandbox takes it again.
func (s *sandbox) take(dir string) error {
	if s.lock != nil {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return err
	}
	// Some network file systems have no locks: there it is as without one.
	s.lock = f
	return nil
}

func (s *sandbox) release() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}
