//go:build linux

package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/spool"
)

// needGuest leaves tests to the long run that start the guest and its daemon.
func needGuest(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a guest and its processes are started: run without -short")
	}
}

// ready is a machine with one sandbox.
func ready(t *testing.T, config machineConfig) (*machine, berth.SandboxRef, berth.SandboxSpec) {
	t.Helper()
	needGuest(t)
	config.guest = sandboxtest.BuildGuest(t)
	if config.root == "" {
		config.root = t.TempDir()
	}
	m := newMachine(config)
	spec := spec(t)
	state, err := m.Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	ref := berth.SandboxRef{ID: spec.ID}
	t.Cleanup(func() {
		if err := m.Destroy(context.Background(), ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		m.Close()
	})
	return m, ref, spec
}

// output reads a command to its end.
func output(t *testing.T, p berth.Provider, ref berth.SandboxRef, id berth.CommandID) (string, berth.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var text strings.Builder
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, id, offset, 200, 5*time.Second)
		if err != nil {
			t.Fatalf("ReadOutput(%d): %v", offset, err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			text.Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			return text.String(), *out.Exit
		}
	}
}

// counting is a command with many lines, and those lines.
func counting(lines int) (script, want string) {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintln(&text, i+1)
	}
	return fmt.Sprintf("for i in {1..%d}; do echo $i; read -t 0.004 <> <(:); done; exit 9", lines), text.String()
}

// meanwhile calls f again and again until the test's own part is over.
func meanwhile(t *testing.T, pause time.Duration, f func()) (stop func()) {
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(pause):
				f()
			}
		}
	})
	stop = sync.OnceFunc(func() { close(over); work.Wait() })
	t.Cleanup(stop)
	return stop
}

func TestConnectionsThatDropLoseNothing(t *testing.T) {
	t.Parallel()
	m, ref, _ := ready(t, machineConfig{dials: new(atomic.Int64)})
	before := m.config.dials.Load()
	stop := meanwhile(t, 100*time.Millisecond, m.cut)
	script, want := counting(400)
	if err := m.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "counter", Script: script}); err != nil {
		t.Fatal(err)
	}
	if got, exit := output(t, m, ref, "counter"); got != want || exit.Code != 9 {
		t.Errorf("output is not every line once: %+v, %q", exit, got)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	slow := io.MultiReader(bytes.NewReader(data[:2<<20]), pausing{300 * time.Millisecond}, bytes.NewReader(data[2<<20:]))
	if _, err := m.WriteFile(t.Context(), ref, "large", slow, int64(len(data)), 0, ""); err != nil {
		t.Fatalf("WriteFile: %v", err)
	}
	if err := m.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "cat", Argv: []string{"cat"}, Stdin: true}); err != nil {
		t.Fatal(err)
	}
	var sent strings.Builder
	for i := range 40 {
		line := fmt.Sprintln("line", i)
		if _, err := m.WriteInput(t.Context(), ref, "cat", int64(sent.Len()), []byte(line), i == 39); err != nil {
			t.Fatal(err)
		}
		sent.WriteString(line)
		time.Sleep(5 * time.Millisecond)
	}
	if got, _ := output(t, m, ref, "cat"); got != sent.String() {
		t.Errorf("input came as %q", got)
	}
	stop()
	if m.config.dials.Load() < before+5 {
		t.Errorf("the connection was cut %d times only", m.config.dials.Load()-before)
	}
	for offset := int64(0); offset < int64(len(data)); {
		piece, err := m.ReadFile(t.Context(), ref, "large", offset, 0, "")
		if err != nil || !bytes.Equal(piece.Data, data[offset:piece.Next]) {
			t.Fatalf("the file differs at %d: %v", offset, err)
		}
		offset = piece.Next
	}
}

// pausing reads nothing for a while.
type pausing struct{ d time.Duration }

func (p pausing) Read([]byte) (int, error) { time.Sleep(p.d); return 0, io.EOF }

func TestADaemonThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	m, ref, spec := ready(t, machineConfig{})
	script, want := counting(300)
	if err := m.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "counter", Script: script}); err != nil {
		t.Fatal(err)
	}
	daemon := "berth-guest\x00daemon\x00-root\x00" + m.folder(spec.ID)
	stop := meanwhile(t, 300*time.Millisecond, func() {
		for _, pid := range sandboxtest.Processes(daemon) { // none while the next one starts
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	got, exit := output(t, m, ref, "counter")
	stop()
	if got != want || exit.Code != 9 {
		t.Errorf("output is not every line once: %+v, %q", exit, got)
	}
}

func TestOfTwoDaemonsForOneFolderOneServes(t *testing.T) {
	t.Parallel()
	m, ref, spec := ready(t, machineConfig{})
	second := exec.Command(m.config.guest, "daemon", "-root", m.folder(spec.ID), "-sandbox", string(spec.ID), "-installation", "test")
	if out, err := second.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the second daemon: %v, %q; want it to leave in silence", err, out)
	}
	var calls sync.WaitGroup
	other := spec
	other.ID, other.Directory = sandboxtest.NewID(), t.TempDir()
	for range 6 {
		calls.Go(func() {
			client := newMachine(m.config)
			defer client.Close()
			if state, err := client.Provision(t.Context(), other); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("Provision = %+v, %v", state, err)
			}
		})
	}
	calls.Wait()
	if n := len(sandboxtest.Processes("daemon\x00-root\x00" + m.folder(other.ID))); n != 1 {
		t.Errorf("%d daemons, want 1", n)
	}
	if err := m.Destroy(t.Context(), berth.SandboxRef{ID: other.ID}); err != nil {
		t.Error(err)
	}
	if state, err := m.Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("the first sandbox: %+v, %v", state, err)
	}
}

func TestTwoSandboxesDoNotShareADirectory(t *testing.T) {
	t.Parallel()
	m, ref, first := ready(t, machineConfig{})
	second := spec(t)
	second.Directory = first.Directory
	state, err := m.Provision(t.Context(), second)
	if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "another sandbox") {
		t.Errorf("Provision = %+v, %v", state, err)
	}
	if left := sandboxtest.Processes(m.folder(second.ID)); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if err := m.Stop(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if state, err := m.Provision(t.Context(), second); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Provision after the first was stopped = %+v, %v", state, err)
	}
	if _, err := m.Start(t.Context(), ref); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Start of the first: %v, want conflict", err)
	}
	if err := m.Destroy(t.Context(), berth.SandboxRef{ID: second.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Start(t.Context(), ref); err != nil {
		t.Errorf("Start after the second is gone: %v", err)
	}
}

func TestAFolderThatIsRemovedByHandEndsItsSandbox(t *testing.T) {
	t.Parallel()
	m, ref, spec := ready(t, machineConfig{})
	if err := m.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "sleep", Argv: []string{"sleep", "600.125"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(m.folder(spec.ID)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); len(sandboxtest.Processes(m.folder(spec.ID)))+len(sandboxtest.Processes("sleep\x00600.125")) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("its processes live on: %v, %v", sandboxtest.Processes(m.folder(spec.ID)), sandboxtest.Processes("sleep\x00600.125"))
		}
	}
	if state, err := m.Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
}

func TestADirectoryThatIsNoneIsToldAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	m, _, _ := ready(t, machineConfig{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(t.TempDir(), "none")} {
		spec := spec(t)
		spec.Directory = dir
		state, err := m.Provision(t.Context(), spec)
		if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonDirectoryMissing {
			t.Errorf("Provision in %s = %+v, %v", dir, state, err)
		}
		if _, err := os.Stat(m.folder(spec.ID)); !os.IsNotExist(err) || len(sandboxtest.Processes(m.folder(spec.ID))) > 0 {
			t.Errorf("something is left: %v", err)
		}
	}
}

func TestWhatALoginPrintsIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		printed string
		rest    string
		code    berth.Code
	}{
		"nothing":         {"berth-relay-1\n", "rest", ""},
		"a greeting":      {"Welcome!\r\n\x1b[0mberth-relay-1\r\n", "rest", ""},
		"an error":        {"bash: line 1: /home/u/.berth/guest: Permission denied\n", "", berth.CodeUnavailable},
		"nothing at all":  {"", "", berth.CodeUnavailable},
		"far too much":    {strings.Repeat("x", 1<<20), "", berth.CodeUnavailable},
		"the line, begun": {"berth-relay-1", "", berth.CodeUnavailable},
	} {
		rw, err := relay.Open(t.Context(), readOnly{strings.NewReader(tt.printed + tt.rest)}, false)
		if berth.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %q", name, err, tt.code)
		}
		if err != nil {
			if len(err.Error()) > 600 {
				t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
			}
			continue
		}
		if rest, _ := io.ReadAll(rw); string(rest) != tt.rest {
			t.Errorf("%s: %q is left, want %q", name, rest, tt.rest)
		}
	}
}

type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error) { return len(p), nil }
func (readOnly) Close() error                { return nil }
