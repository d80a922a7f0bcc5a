//go:build linux

package ssh_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// failing makes the connections of a rig fail at one of their steps, once.
type failing struct {
	mu    sync.Mutex // guards what follows
	left  int        // steps until it fails
	after bool       // what was asked is done, and the answer lost
}

// set says which step fails; after that it is as before.
func (f *failing) set(step int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = step, after
}

func (f *failing) fails() (fails, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	return f.left == 0, f.after
}

// wrap makes all further connections of the rig fail when f says so.
func (f *failing) wrap(r *rig) {
	connect := r.config.Connect
	r.config.Connect = func(ctx context.Context, destination, configFile string) (ssh.Shell, error) {
		sh, err := connect(ctx, destination, configFile)
		return failingShell{sh, f}, err
	}
	r.reopen()
}

type failingShell struct {
	ssh.Shell
	f *failing
}

var errCut = berth.Errorf(berth.CodeUnavailable, "the connection was cut")

func (s failingShell) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	fails, after := s.f.fails()
	if fails && !after {
		return nil, errCut
	}
	out, err := s.Shell.Run(ctx, line, stdin)
	if fails {
		return nil, errCut
	}
	return out, err
}

func (s failingShell) Open(ctx context.Context, line string) (io.ReadWriteCloser, error) {
	fails, after := s.f.fails()
	if fails && !after {
		return nil, errCut
	}
	rw, err := s.Shell.Open(ctx, line)
	if fails && err == nil {
		// The daemon is there by now, and nobody hears of it.
		_, _ = relay.Open(ctx, rw, false)
		rw.Close()
		return nil, errCut
	}
	return rw, err
}

func TestAServerThatDiesAtAnyStepWithAnyHostLeavesNothing(t *testing.T) {
	for _, kind := range []string{"guest", "plain"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "program")
			if kind == "plain" {
				r.foreign(t)
			}
			f := &failing{}
			f.wrap(r)
			for step := 1; step <= 4; step++ {
				for _, after := range []bool{false, true} {
					r.endedAt(t, f, step, after)
				}
			}
		})
	}
}

// endedAt has a server die after a step of Provision failed; the next one destroys
// the sandbox, where that step of Destroy fails too.
func (r *rig) endedAt(t *testing.T, f *failing, step int, after bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec := r.spec(t)
	f.set(step, after)
	_, _ = r.present.Provision(ctx, spec) // whether it got that far or not
	p := r.reopen()
	f.set(step, after)
	ref := berth.SandboxRef{ID: spec.ID}
	if err := p.Destroy(ctx, ref); err != nil {
		if err := p.Destroy(ctx, ref); err != nil {
			t.Errorf("step %d, after %v: Destroy: %v", step, after, err)
		}
	}
	f.set(0, false)
	if _, err := os.Stat(r.folder(spec.ID)); !os.IsNotExist(err) || len(sandboxtest.Left(string(spec.ID))) > 0 {
		t.Errorf("step %d, after %v: left: %v, %v", step, after, err, sandboxtest.Left(string(spec.ID)))
	}
	next := r.spec(t) // its directory is nobody's
	next.Environment.SSH.WorkingDirectory = spec.Environment.SSH.WorkingDirectory
	state, err := p.Provision(ctx, next)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("step %d, after %v: Provision in the same directory = %+v, %v", step, after, state, err)
	}
	if err := p.Destroy(ctx, refOf(state)); err != nil {
		t.Error(err)
	}
}

// cutShell is this machine's bash, which hears the beginning of what it is to do.
type cutShell struct {
	home string
	most int // bytes
}

func (s cutShell) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "HOME="+s.home)
	cmd.Stdin = io.LimitReader(stdin, int64(s.most))
	out, err := cmd.Output()
	if err != nil {
		return out, &relay.StatusError{Status: cmd.ProcessState.ExitCode()}
	}
	return out, nil
}

func (cutShell) Open(context.Context, string) (io.ReadWriteCloser, error) { return nil, errCut }

func TestAScriptThatArrivesInPartIsNotRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a shell for many bytes of a script: run without -short")
	}
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	sandbox := func(home string, most int) plain.Sandboxes {
		return plain.Sandboxes{Installation: "test", Shell: func(context.Context, berth.SandboxRef) (relay.Shell, error) { return cutShell{home, most}, nil }}
	}
	dir, ref := t.TempDir(), berth.SandboxRef{ID: sandboxtest.NewID()}
	for most := 1; ; most += 23 {
		if most > 600 {
			most -= 22 // each byte of what comes last
		}
		home := t.TempDir()
		_, err := sandbox(home, most).Provision(t.Context(), ref, "", dir)
		if err == nil {
			if most < 500 {
				t.Errorf("%d bytes were enough", most)
			}
			break
		}
		if made, _ := os.ReadDir(home); len(made) > 0 {
			t.Fatalf("with %d bytes of the script: %v, and %v was made", most, err, made)
		}
		if most > 10000 {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	whole := sandbox(home, 1<<20)
	if _, err := whole.Provision(t.Context(), ref, "", dir); err != nil {
		t.Fatal(err)
	}
	for most := 1; ; most += 41 {
		id := berth.CommandID("c" + strconv.Itoa(most))
		err := sandbox(home, most).StartCommand(t.Context(), ref, berth.CommandSpec{ID: id, Script: "echo x >> ran"})
		if err == nil {
			break
		}
		if _, statErr := os.Stat(filepath.Join(home, ".berth", "test", string(ref.ID), "c", string(id))); !os.IsNotExist(statErr) {
			t.Fatalf("with %d bytes of the script: %v, and something was started", most, err)
		}
		if most > 20000 {
			t.Fatal(err)
		}
	}
	if err := whole.Destroy(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
}

func TestAHomeWithoutRoomLeavesTheGuestToVarTmp(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	bin := filepath.Join(r.server.Home, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	user := fmt.Sprintf("test-%d", os.Getpid())
	elsewhere := "/var/tmp/berth-" + user
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	for path, text := range map[string]string{
		filepath.Join(bin, "df"):                "#!/bin/sh\necho Filesystem 1024-blocks Used Available Capacity Mounted on\ncase $2 in */var/tmp/*) f=9999999;; *) f=100;; esac\necho /dev/x 9999999 1 $f 99% /\n",
		filepath.Join(bin, "id"):                "#!/bin/sh\necho " + user + "\n",
		filepath.Join(r.server.Home, ".bashrc"): "PATH=" + bin + ":$PATH\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	state := r.ready(t, r.spec(t))
	if state.Detail != "" {
		t.Errorf("the sandbox has no guest: %+v", state)
	}
	if programs, _ := filepath.Glob(elsewhere + "/guest-*"); len(programs) != 1 {
		t.Errorf("the guest is not in %s: %v", elsewhere, programs)
	}
	if got := r.run(t, state, berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" {
		t.Errorf("the command gave %+v", got)
	}
}

func TestCshReadsTheScriptsToo(t *testing.T) {
	t.Parallel()
	csh, err := exec.LookPath("tcsh")
	if err != nil {
		t.Skip("there is no tcsh")
	}
	r := newRig(t, "program", "ForceCommand exec "+csh+` -f -c "$SSH_ORIGINAL_COMMAND"`)
	state := r.ready(t, r.spec(t))
	if got := r.run(t, state, berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" || state.Detail != "" {
		t.Errorf("the command gave %+v, in %+v", got, state)
	}
	list, err := r.present.List(t.Context())
	if err != nil || len(list) != 1 || !bytes.Equal([]byte(list[0].ID), []byte(state.ID)) || strings.Contains(list[0].Detail, "plain") {
		t.Errorf("List = %+v, %v", list, err)
	}
}
