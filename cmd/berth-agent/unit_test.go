//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

const unitFile = "../../scripts/berth-agent.service"

func TestTheUnitOfSystemdIsWhole(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ExecStart=/usr/local/bin/berth-agent serve", "KillMode=process", "Restart=always", "NoNewPrivileges=yes", "StateDirectory=berth-agent",
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if usual := "/var/lib/berth-agent"; os.Geteuid() == 0 && usualFolder() != folder(usual) {
		t.Errorf("the folder of root is %s, and the unit's is %s", usualFolder(), usual)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the unit was not verified")
	}
	// The program need not be installed where the test runs.
	copied := filepath.Join(t.TempDir(), "berth-agent.service")
	here := bytes.ReplaceAll(unit, []byte("=/usr/local/bin/berth-agent serve"), []byte("="+os.Args[0]+" serve"))
	if err := os.WriteFile(copied, here, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", copied).CombinedOutput()
	if err != nil || strings.Contains(string(out), "berth-agent.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func TestAJoinGoesOnServingWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	args := joinArgs(t, c, dir, "--serve")
	go func() {
		ended <- run(ctx, args, w, &stderr)
		w.Close()
	}()
	text := make([]byte, 0, 1000)
	for bytes.Count(text, []byte("\n")) < 4 { // host, address, then what serve prints
		piece := make([]byte, 200)
		n, err := r.Read(piece)
		if text = append(text, piece[:n]...); err != nil {
			t.Fatalf("it ended: %v, %s%s", err, text, &stderr)
		}
	}
	lines := strings.Split(string(text), "\n")
	if lines[0] != "h1" || lines[1] != lines[2] {
		t.Errorf("it printed %q", lines)
	}
	until(t, "a heartbeat", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.beats) == 1
	})
	p, err := connectTo(dir, lines[1], berth.ProviderDocker, installation)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Health(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("it printed more, or %v", err)
	}
	if status := <-ended; status != 0 {
		t.Errorf("it ended with %d: %s", status, &stderr)
	}
}
