//go:build linux

package ssh_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// hereShell is this machine's bash, with a home of its own.
type hereShell struct{ home string }

func (s hereShell) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = stdin
	return cmd.Output()
}

func (hereShell) Open(context.Context, string) (io.ReadWriteCloser, error) { return nil, errCut }

// processes are those whose home is the shell's.
func (s hereShell) processes() []string {
	var all []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if env, err := os.ReadFile(path); err == nil && strings.Contains("\x00"+string(env), "\x00HOME="+s.home+"\x00") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			all = append(all, filepath.Base(filepath.Dir(path))+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

func (s hereShell) wantNoProcess(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := s.processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("these are left on the host: %q", left)
		}
	}
}

func hereSandbox(t *testing.T) (hereShell, plain.Sandboxes, berth.SandboxRef) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts shells and waits for their end: run without -short")
	}
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	sh := hereShell{t.TempDir()}
	s := plain.Sandboxes{Installation: "test", Shell: func(context.Context, berth.SandboxRef) (relay.Shell, error) { return sh, nil }}
	ref := berth.SandboxRef{ID: sandboxtest.NewID()}
	if _, err := s.Provision(t.Context(), ref, "", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return sh, s, ref
}

// What watches a command waited for a lock in a folder that was gone, for ever.
func TestAPlainSandboxThatIsDestroyedAsACommandStartsLeavesNoProcess(t *testing.T) {
	sh, s, ref := hereSandbox(t)
	dir := t.TempDir()
	for i := range 10 {
		if _, err := s.Provision(t.Context(), ref, "", dir); err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{"echo x", "sleep 6013"} {
			id := berth.CommandID("c" + strconv.Itoa(i) + script[:1])
			if err := s.StartCommand(t.Context(), ref, berth.CommandSpec{ID: id, Script: script}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Destroy(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	sh.wantNoProcess(t)
}

func TestABackgroundProcessOfAPlainCommandEndsWithItsSandbox(t *testing.T) {
	for name, end := range map[string]func(plain.Sandboxes, context.Context, berth.SandboxRef) error{
		"destroyed": plain.Sandboxes.Destroy, "stopped": plain.Sandboxes.Stop,
	} {
		t.Run(name, func(t *testing.T) {
			sh, s, ref := hereSandbox(t)
			spec := berth.CommandSpec{ID: "stays", Script: "sleep 6014 & echo begun"}
			if err := s.StartCommand(t.Context(), ref, spec); err != nil {
				t.Fatal(err)
			}
			for offset, ended := int64(0), false; !ended; {
				out, err := s.ReadOutput(t.Context(), ref, spec.ID, offset, 0, 20*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				offset, ended = out.Next, out.Ended
			}
			if len(sh.processes()) == 0 {
				t.Error("a background process does not outlive its command")
			}
			if err := end(s, t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			sh.wantNoProcess(t)
		})
	}
}
