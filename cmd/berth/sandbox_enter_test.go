package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
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
	if want := "[-t]\n[box]\n[cd '/a b' && exec bash -i]\n"; r.status != 9 || r.stdout != want {
		t.Errorf("status %d, output %q; want 9, %q", r.status, r.stdout, want)
	}
	mustContain(t, "stderr", r.stderr, f.sshLine)
	f.sshLine = "ssh -oProxyCommand=/bin/evil box"
	r = c.run("sandbox", "ssh", string(fakeSandbox))
	if r.status != 125 || r.stdout != "" {
		t.Errorf("a line that runs something here: status %d, output %q", r.status, r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "not one that berth runs by itself", f.sshLine)
}

func TestAProvidersURLIsPrintedAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addSandbox("")
	f.previewURL = "https://3000-box.example/?token=x"
	c := newCLI(t, f.URL)
	if got := c.ok("sandbox", "preview", string(fakeSandbox), "3000"); got.stdout != f.previewURL+"\n" {
		t.Errorf("it printed %q", got.stdout)
	}
	mustContain(t, "--json", c.ok("sandbox", "preview", "--json", string(fakeSandbox), "3000").stdout, `"url": "https://3000-box.example/?token=x"`, `"port": 3000`)
	for _, args := range [][]string{{}, {string(fakeSandbox)}, {string(fakeSandbox), "1", "2"}, {string(fakeSandbox), "1", "--listen", "here"}, {string(fakeSandbox), "1", "--ttl", "soon"}} {
		if r := c.run(append([]string{"sandbox", "preview"}, args...)...); r.status != 2 {
			t.Errorf("preview %q: %d, %s", args, r.status, r.stderr)
		}
	}
}

func TestAHostThatIsNotReachedFromHereIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f := newFake(t)
	f.addSandbox("")
	f.ticket = &berth.Ticket{Value: "v", URL: "https://" + l.Addr().String() + "/v1/stream", Fingerprint: "sha256:00"}
	r := newCLI(t, f.URL).run("sandbox", "preview", string(fakeSandbox), "80")
	if r.status != 6 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	mustContain(t, "stderr", r.stderr, "is not reachable from here", "berth exec")
}

func TestOnlySandboxesThatCanBeEnteredAreCompleted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addSandbox("")
	c := newCLI(t, f.URL)
	for _, command := range []string{"ssh", "preview"} {
		mustContain(t, command, c.ok("__complete", "sandbox", command, "").stdout, string(fakeSandbox))
		mustNotContain(t, command+" behind the sandbox", c.ok("__complete", "sandbox", command, string(fakeSandbox), "").stdout, string(fakeSandbox))
	}
	f.mu.Lock()
	f.sandboxes[0].Status = berth.SandboxStopped
	f.mu.Unlock()
	mustNotContain(t, "a stopped one", c.ok("__complete", "sandbox", "ssh", "").stdout, string(fakeSandbox))
}
