package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// cli is a person at a command line, with a folder, an environment and a server.
type cli struct {
	t       *testing.T
	dir     string
	env     map[string]string
	stdin   io.Reader
	signals chan os.Signal
	clock   berth.Clock
}

// result is what a command line left behind.
type result struct {
	status         int
	stdout, stderr string
}

// testLimit bounds one command line.
const testLimit = 30 * time.Second

func newCLI(t *testing.T, server string) *cli {
	t.Helper()
	home := t.TempDir()
	return &cli{
		t: t, dir: t.TempDir(), stdin: strings.NewReader(""), signals: make(chan os.Signal, 4), clock: berth.SystemClock{},
		env: map[string]string{
			"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_DATA_HOME": filepath.Join(home, "data"),
			"BERTH_SERVER": server, "BERTH_TOKEN": "test-token", "TMPDIR": home,
		},
	}
}

func (c *cli) app(stdout, stderr io.Writer) *app {
	return &app{
		stdin: c.stdin, stdout: stdout, stderr: stderr, env: c.env, dir: c.dir, clock: c.clock,
		signals: func() (<-chan os.Signal, func()) { return c.signals, func() {} },
	}
}

func (c *cli) run(args ...string) result {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	status := c.app(&stdout, &stderr).execute(ctx, args)
	return result{status, stdout.String(), stderr.String()}
}

// ok is run for a command line that must succeed.
func (c *cli) ok(args ...string) result {
	c.t.Helper()
	r := c.run(args...)
	if r.status != 0 {
		c.t.Fatalf("berth %s = %d, want 0; stderr:\n%s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r
}

// input sets standard input.
func (c *cli) input(s string) *cli {
	c.stdin = strings.NewReader(s)
	return c
}

func (c *cli) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *cli) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func mustContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not contain %q:\n%s", what, part, text)
		}
	}
}

func mustNotContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s contains %q:\n%s", what, part, text)
		}
	}
}

// hurriedClock does not sleep; its time goes on instead.
type hurriedClock struct{ slept *atomic.Int64 }

func newHurriedClock() hurriedClock { return hurriedClock{new(atomic.Int64)} }

func (c hurriedClock) Now() time.Time { return time.Now().Add(time.Duration(c.slept.Load())) }

func (c hurriedClock) Sleep(ctx context.Context, d time.Duration) error {
	c.slept.Add(int64(d))
	return ctx.Err()
}

func writeToken(dir, token string) error {
	return os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600)
}
