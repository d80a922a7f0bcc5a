package relay

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// Place says where a sandbox is to be on its machine.
type Place struct {
	Run berth.RunID
	// Directory is the workspace, an absolute path or one that begins with ~/, the
	// home of who the daemon runs as.
	Directory string
	// Make makes it when it is not there.
	Make bool
}

// Provision makes the sandbox at the other end, or returns the one that is
// there. A directory that cannot be used and a bash that does not answer are
// told as a state failed with its reason; Destroy removes the daemon then.
func (s *Sandboxes) Provision(ctx context.Context, ref berth.SandboxRef, p Place) (berth.SandboxState, error) {
	return s.state(ctx, ref, wire.OpProvision, wire.Provision{Run: p.Run, Directory: wire.Text(p.Directory), Make: p.Make})
}

// Describe says how the sandbox is; status gone when it does not exist.
func (s *Sandboxes) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	state, err := s.state(ctx, ref, wire.OpDescribe, nil)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	return state, err
}

// Probe waits until bash in a sandbox has answered whose daemon is process 1 of
// a container, and tells who commands run as and which files are at the paths in
// it. Errors: invalid with what is wrong with bash.
func (s *Sandboxes) Probe(ctx context.Context, ref berth.SandboxRef, paths []string) (said wire.Probed, err error) {
	_, _, err = s.ask(ctx, ref, wire.OpProbe, wire.Probe{Mounts: wire.Texts(paths)}, nil, &said)
	return said, err
}

// Stop ends all commands and keeps the files.
func (s *Sandboxes) Stop(ctx context.Context, ref berth.SandboxRef) error {
	_, _, err := s.ask(ctx, ref, wire.OpHalt, nil, nil, nil)
	return err
}

// Start makes a stopped or failed sandbox ready again. Error: conflict when
// another sandbox has its workspace now.
func (s *Sandboxes) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	return s.state(ctx, ref, wire.OpResume, nil)
}

// Destroy ends the sandbox's processes, its daemon and its folder. The workspace
// stays. One that is gone is no error.
func (s *Sandboxes) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	_, _, err := s.ask(ctx, ref, wire.OpDestroy, nil, nil, nil)
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return err
	}
	s.awaitEnd(ctx, ref.ID)
	s.Forget(ref.ID)
	return nil
}

// endWait is how long a daemon has to end after its sandbox.
const endWait = 10 * time.Second

// awaitEnd waits until the daemon has ended the connection: it is gone itself then.
func (s *Sandboxes) awaitEnd(ctx context.Context, id berth.SandboxID) {
	_, l, _ := s.find(id)
	if l == nil {
		return
	}
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case <-l.gone:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Sandboxes) state(ctx context.Context, ref berth.SandboxRef, op wire.Op, params any) (berth.SandboxState, error) {
	var state wire.State
	_, _, err := s.ask(ctx, ref, op, params, nil, &state)
	return state.Sandbox(), err
}
