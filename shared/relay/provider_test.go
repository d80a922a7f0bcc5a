//go:build linux

package relay_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// machine is a provider over relays to daemons of this machine: what a far one
// does, without the distance.
type machine struct {
	*relay.Sandboxes
	config machineConfig

	mu    sync.Mutex // guards relays
	pipes []*process
}

type machineConfig struct {
	root, guest string
	base64      bool
	dials       *atomic.Int64
}

func newMachine(config machineConfig) *machine {
	m := &machine{config: config}
	m.Sandboxes = relay.New(relay.Config{Streams: true, Dial: func(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error) {
		return m.dial(ctx, ref.ID, create)
	}})
	return m
}

func (m *machine) folder(id berth.SandboxID) string { return filepath.Join(m.config.root, string(id)) }

func (m *machine) dial(ctx context.Context, id berth.SandboxID, create bool) (io.ReadWriteCloser, error) {
	if m.config.dials != nil {
		m.config.dials.Add(1)
	}
	args := []string{"relay", "-root", m.folder(id), "-sandbox", string(id), "-installation", "test"}
	if create {
		args = append(args, "-create")
	}
	if m.config.base64 {
		args = append(args, "-base64")
	}
	p, err := startProcess(m.config.guest, args)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.pipes = append(m.pipes, p)
	m.mu.Unlock()
	return relay.Open(ctx, p, m.config.base64)
}

// cut kills every relay, as a network does.
func (m *machine) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pipes {
		_ = p.cmd.Process.Kill()
	}
	m.pipes = nil
}

// process is a stream over a program's standard input and output.
type process struct {
	io.Writer
	io.Reader
	cmd  *exec.Cmd
	in   io.Closer
	once sync.Once
}

func startProcess(program string, args []string) (*process, error) {
	cmd := exec.Command(program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &process{Writer: in, Reader: out, cmd: cmd, in: in}, cmd.Start()
}

func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return nil
}

func (m *machine) Kind() berth.ProviderKind { return berth.ProviderSSH }

func (m *machine) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	ref := berth.SandboxRef{ID: spec.ID}
	state, err := m.Sandboxes.Provision(ctx, ref, relay.Place{Run: spec.Run, Directory: spec.Directory})
	if err == nil && state.Status == berth.SandboxFailed {
		err = m.Destroy(ctx, ref)
	}
	return state, err
}

func (m *machine) List(ctx context.Context) ([]berth.SandboxState, error) {
	entries, err := os.ReadDir(m.config.root)
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	var all []berth.SandboxState
	var errs []error
	for _, entry := range entries {
		state, err := m.Describe(ctx, berth.SandboxRef{ID: berth.SandboxID(entry.Name())})
		if state.Status != berth.SandboxGone {
			all = append(all, state)
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

var _ berth.Provider = (*machine)(nil)

func spec(t testing.TB) berth.SandboxSpec {
	return berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir()}
}
