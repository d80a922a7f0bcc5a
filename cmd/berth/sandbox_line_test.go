//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal/terminaltest"
)

func TestAProvidersCommandLineIsRunAndItsStatusIsTheShells(t *testing.T) {
	f := newFake(t)
	f.addSandbox("")
	c := newCLI(t, f.URL)
	program := c.write("bin/ssh", "#!/bin/sh\nfor word; do echo \"[$word]\"; done\nexit 9\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	f.sshLine = berth.ShellQuote("ssh", "-t", "box", "cd '/a b' && exec bash -i")
	if got := c.ok("sandbox", "ssh", "--json", string(fakeSandbox)).stdout; !strings.Contains(got, `"command": "ssh -t box`) {
		t.Errorf("--json printed %s", got)
	}
	r := c.run("sandbox", "ssh", string(fakeSandbox))
	if r.status != 125 || r.stdout != "" {
		t.Errorf("without a terminal: status %d, output %q", r.status, r.stdout)
	}
	mustContain(t, "stderr without a terminal", r.stderr, "standard input is no terminal", "berth exec "+string(fakeSandbox))
	_, c.stdin = terminaltest.Open(t)
	r = c.run("sandbox", "ssh", string(fakeSandbox))
	if want := "[-t]\n[box]\n[cd '/a b' && exec bash -i]\n"; r.status != 9 || r.stdout != want {
		t.Errorf("status %d, output %q; want 9, %q", r.status, r.stdout, want)
	}
	mustContain(t, "stderr", r.stderr, f.sshLine, "none of the environment's variables")
	f.sshLine = "ssh -oProxyCommand=/bin/evil box"
	r = c.run("sandbox", "ssh", string(fakeSandbox))
	if r.status != 125 || r.stdout != "" {
		t.Errorf("a line that runs something here: status %d, output %q", r.status, r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "not one that berth runs by itself", f.sshLine)
}
