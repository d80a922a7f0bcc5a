package gitsource_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
)

// clone is one run of a clone's command in a workspace.
type clone struct {
	source    gitsource.Source
	target    berth.Target
	depth     int
	provider  berth.ProviderKind
	workspace string
	env       []string // beside PATH
	status    gitsource.Status
	log       string
}

func newClone(t *testing.T, target berth.Target) *clone {
	t.Helper()
	target.Kind = berth.TargetGit
	return &clone{source: gitsource.Impatient(nil), target: target, depth: berth.DefaultCloneDepth, workspace: t.TempDir()}
}

func (c *clone) command(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	spec, err := c.source.CloneCommand(ctx, berth.Definition{Environment: berth.Environment{Provider: c.provider}, Target: c.target, Clone: berth.Clone{Enabled: true, Depth: c.depth}})
	if err != nil {
		t.Fatalf("CloneCommand: %v", err)
	}
	cmd := exec.CommandContext(ctx, spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir = c.workspace
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.workspace}, c.env...)
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (c *clone) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := c.command(ctx, t)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	c.status, c.log = gitsource.Status(cmd.ProcessState.ExitCode()), stderr.String()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running the clone: %v\n%s", err, c.log)
	}
	if stdout.Len() > 0 {
		t.Errorf("the clone wrote to stdout: %q", stdout.String())
	}
	if strings.Contains(c.log, "\r") {
		t.Errorf("the log has carriage returns: %q", c.log)
	}
}

// git runs git in the workspace as a user's command would.
func (c *clone) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = c.workspace, []string{"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s\nafter\n%s", args, err, out, c.log)
	}
	return strings.TrimSpace(string(out))
}

// wantAt fails unless the working branch is attached to the commit, whole.
func (c *clone) wantAt(t *testing.T, branch, commit string) {
	t.Helper()
	if c.status != gitsource.StatusDone {
		t.Fatalf("the clone of %+v ended with %d, want 0\n%s", c.target, c.status, c.log)
	}
	if got := c.git(t, "symbolic-ref", "HEAD"); got != "refs/heads/"+branch {
		t.Errorf("HEAD is %s, want branch %s", got, branch)
	}
	if got := c.git(t, "rev-parse", "HEAD"); got != commit {
		t.Errorf("HEAD is at %s, want %s", got, commit)
	}
	if got := c.git(t, "status", "--porcelain", "--ignored"); got != "" {
		t.Errorf("the workspace is not clean:\n%s", got)
	}
	if want := "branch " + branch + " is at " + commit; lastLine(c.log) != want {
		t.Errorf("the last line is %q, want %q", lastLine(c.log), want)
	}
}

// wantFailed fails unless the clone ended with a status, and all words are in its
// last line.
func (c *clone) wantFailed(t *testing.T, status gitsource.Status, words ...string) {
	t.Helper()
	if c.status != status {
		t.Fatalf("the clone of %+v ended with %d, want %d\n%s", c.target, c.status, status, c.log)
	}
	last := lastLine(c.log)
	if !strings.HasPrefix(last, "clone failed: ") {
		t.Errorf("the last line is %q, want the failure", last)
	}
	for _, word := range words {
		if !strings.Contains(last, word) {
			t.Errorf("the last line is %q, want %q in it", last, word)
		}
	}
}

// files are the names in the workspace.
func (c *clone) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(c.workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (c *clone) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(c.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *clone) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.workspace, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func lastLine(log string) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	return lines[len(lines)-1]
}
