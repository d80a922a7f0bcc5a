//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

// These tests build the program and use it as people do: real processes, a real
// server in the background, real runs.

const (
	buildLimit   = 5 * time.Minute
	commandLimit = 2 * time.Minute
	endWait      = 30 * time.Second
)

var buildRoot string

func TestMain(m *testing.M) {
	status := m.Run()
	if buildRoot != "" {
		os.RemoveAll(buildRoot)
	}
	os.Exit(status)
}

// binary builds the program once, with a guest in it whether or not one was
// built before; agentBinary does so with the host agent.
var (
	binary      = sync.OnceValues(func() (string, error) { return buildWithGuest("berth", ".") })
	agentBinary = sync.OnceValues(func() (string, error) { return buildWithGuest("berth-agent", "../berth-agent") })
)

// overlay replaces the embedded guest by one that was just built.
var overlay = sync.OnceValues(func() (string, error) {
	var err error
	if buildRoot, err = os.MkdirTemp("", "berth-e2e-"); err != nil {
		return "", err
	}
	guest := filepath.Join(buildRoot, "guest")
	if err := build("-o", guest, "../berth-guest"); err != nil {
		return "", err
	}
	embed, err := filepath.Abs("../../shared/guestbin/bin/berth-guest-linux-" + runtime.GOARCH)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {embed: guest}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(buildRoot, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
})

func buildWithGuest(name, source string) (string, error) {
	file, err := overlay()
	if err != nil {
		return "", err
	}
	program := filepath.Join(buildRoot, name)
	return program, build("-overlay", file, "-o", program, source)
}

func build(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-ldflags", "-s -w"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// machine is a person's machine with a data folder of its own.
type machine struct {
	t       *testing.T
	program string
	data    string
	dir     string
	env     []string
	// environment is the one to run in.
	environment string
}

// onEveryMachine runs a test on a machine whose runs are on provider local, and on
// one with Docker.
func onEveryMachine(t *testing.T, test func(t *testing.T, m *machine)) {
	t.Run("local", func(t *testing.T) { test(t, newMachine(t)) })
	t.Run("docker", func(t *testing.T) { test(t, newDockerMachine(t)) })
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and starts servers")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the provider local runs on Linux")
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	m := &machine{t: t, program: program, data: filepath.Join(root, "data"), dir: filepath.Join(root, "work"), environment: "local"}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "XDG_CONFIG_HOME=" + filepath.Join(root, "config"), "BERTH_DATA_DIR=" + m.data,
	}
	t.Cleanup(m.clean)
	return m
}

// clean destroys what the test left and ends its server.
func (m *machine) clean() {
	found, err := embedded.Find(context.Background(), m.data)
	if err != nil {
		return
	}
	for _, what := range []string{"runs", "sandbox"} {
		verb := map[string]string{"runs": "cancel", "sandbox": "rm"}[what]
		var list struct {
			Items []struct {
				ID     string
				Status string
			}
		}
		if err := json.Unmarshal([]byte(m.run(what, "list", "--json").stdout), &list); err != nil {
			m.t.Errorf("%s list: %v", what, err)
		}
		for _, item := range list.Items {
			if !berth.RunStatus(item.Status).Ended() {
				m.run(what, verb, item.ID)
				if what == "runs" && !within(endWait, func() bool { return m.show(item.ID).Status.Ended() }) {
					m.t.Errorf("run %s does not end", item.ID)
				}
			}
		}
	}
	m.end(found.PID)
}

// end ends a server that this test started and waits until it is gone.
func (m *machine) end(pid int) {
	if syscall.Kill(pid, syscall.SIGTERM) != nil {
		return
	}
	if !within(endWait, func() bool { return gone(pid) }) {
		m.t.Errorf("server %d did not end within %s", pid, endWait)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// gone reports whether a process has ended, also when nobody has taken its
// status yet.
func gone(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(data), ") Z ")
}

func within(limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

func (m *machine) command(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	m.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, m.program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = m.dir, m.env, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, &stdout, &stderr
}

func (m *machine) run(args ...string) result { return m.runWith(nil, args...) }

func (m *machine) runWith(stdin []byte, args ...string) result {
	m.t.Helper()
	cmd, stdout, stderr := m.command(args...)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatalf("berth %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (m *machine) ok(args ...string) result {
	m.t.Helper()
	r := m.run(args...)
	if r.status != 0 {
		m.t.Fatalf("berth %s = %d\n%s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r
}

func (m *machine) show(id string) berth.Run {
	m.t.Helper()
	var run berth.Run
	if err := json.Unmarshal([]byte(m.ok("runs", "show", "--json", id).stdout), &run); err != nil {
		m.t.Fatal(err)
	}
	return run
}

// newest is the run that was made last.
func (m *machine) newest() berth.Run {
	m.t.Helper()
	var list berth.List[berth.RunSummary]
	if err := json.Unmarshal([]byte(m.ok("runs", "list", "--limit", "1", "--json").stdout), &list); err != nil || len(list.Items) == 0 {
		m.t.Fatalf("runs list: %v, %d items", err, len(list.Items))
	}
	return m.show(string(list.Items[0].ID))
}

// live starts a run that goes on until it is cancelled, and returns its id once
// its command runs.
func (m *machine) live() string {
	m.t.Helper()
	id := strings.TrimSpace(m.ok("run", "-q", "-d", "-e", m.environment, "--", "sleep", "600").stdout)
	if !within(endWait, func() bool { return m.show(id).Status == berth.RunRunning }) {
		m.t.Fatalf("run %s does not run", id)
	}
	return id
}

// processes counts the processes whose arguments hold a text.
func processes(text string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(strings.ReplaceAll(string(data), "\x00", " "), text) {
			n++
		}
	}
	return n
}
