//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

func TestTheSameJourneyOnTheEmbeddedServer(t *testing.T) {
	journey(t, newEmbeddedSite(t))
}

// newEmbeddedSite is a server in the foreground that has no engine of its own.
func newEmbeddedSite(t *testing.T) site {
	t.Helper()
	owner, cloud := newMachine(t), daytonatest.New(t, daytonatest.Config{})
	cmd := exec.Command(owner.program, "serve", "--listen", "127.0.0.1:0", "--docker", "off")
	cmd.Dir, cmd.Env = owner.dir, append(owner.env, "DAYTONA_API_KEY="+daytonatest.Key, "DAYTONA_API_URL="+cloud.URL())
	url := announced(t, cmd)
	key := strings.TrimSpace(owner.ok("key", "create", "owner", "--scope", "read,run,admin").stdout)
	return site{url: url, key: key, daytona: cloud}
}

// announced starts a program that serves, returns what it prints first, and ends
// it when the test does.
func announced(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors := &written{}
	cmd.Stderr = errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(endWait, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v\n%s", cmd.Args, err, errors)
		} else if t.Failed() {
			t.Logf("%s wrote\n%s", cmd.Args, errors)
		}
	})
	late := time.AfterFunc(journeyLimit, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	scan := bufio.NewScanner(out)
	if !scan.Scan() {
		t.Fatalf("%s ended as it started:\n%s", cmd.Args, errors)
	}
	return scan.Text()
}

// written is a buffer that is read while a program writes to it.
type written struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// joinHost makes this machine a host of a site, by the commands that people use, which
// browsers reach.
func joinHost(t *testing.T, j *traveller) (h berth.Host, browsers string) {
	t.Helper()
	agent, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Fields(j.ok("host", "add", "quay", "--label", "zone=a").stdout)
	if len(line) != 5 || line[0] != "berth-agent" || line[1] != "join" {
		t.Fatalf("host add printed %q", line)
	}
	j.authority.Issue("*.quay.example.com", time.Now().Add(24*time.Hour))
	cert, key := j.authority.Files()
	args := append(slices.Clone(line[1:]), "--serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), "agent"),
		"--public-url", "https://*.quay.example.com", "--public-listen", "127.0.0.1:0", "--public-cert", cert, "--public-key", key)
	cmd := exec.Command(agent, args...)
	cmd.Env = j.env
	if name := announced(t, cmd); name != "quay" {
		t.Errorf("join printed %q, want the host's name", name)
	}
	ready := func() bool {
		host, err := j.client.FindHost(context.Background(), "quay")
		return err == nil && host.Status == berth.HostReady
	}
	if !within(journeyLimit, ready) {
		t.Fatalf("the host is not ready:\n%s", j.ok("host", "list").stdout)
	}
	host, err := j.client.FindHost(t.Context(), "quay")
	if err != nil {
		t.Fatal(err)
	}
	if host.Labels["zone"] != "a" || !strings.HasPrefix(host.Address, "https://127.0.0.1:") || host.CPU < 1 || host.PublicURL != "https://*.quay.example.com" {
		t.Errorf("the host is %+v", host)
	}
	said := regexp.MustCompile(`which has to lead to (\S+)`)
	if !within(endWait, func() bool { return said.MatchString(cmd.Stderr.(*written).String()) }) {
		t.Fatalf("the agent does not say where browsers reach it:\n%s", cmd.Stderr)
	}
	browsers = said.FindStringSubmatch(cmd.Stderr.(*written).String())[1]
	again := exec.Command(agent, append(line[1:], "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), "agent"))...)
	again.Env = j.env
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "token") {
		t.Errorf("a token that was used: %v\n%s", err, out)
	}
	return host, browsers
}
