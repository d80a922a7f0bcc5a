//go:build linux

package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
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

var lastID atomic.Int64

// newID is a ULID with a number at its end, and that of the process before it: tests
// of other packages look for processes by their sandboxes too.
func newID() berth.SandboxID {
	return berth.SandboxID(fmt.Sprintf("01arz3ndekt%07d%08d", os.Getpid()%1e7, lastID.Add(1)))
}

func spec(t testing.TB) berth.SandboxSpec {
	return berth.SandboxSpec{ID: newID(), Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir()}
}

// processes lists the living processes whose command line holds text.
func processes(text string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil && bytes.Contains(b, []byte(text)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func kill(t testing.TB, text string) {
	t.Helper()
	pids := processes(text)
	if len(pids) != 1 {
		t.Fatalf("%d processes of %q, want 1", len(pids), text)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
