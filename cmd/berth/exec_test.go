package main

import (
	"bytes"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func withSandbox(t *testing.T) (*fake, *cli) {
	t.Helper()
	f := newFake(t)
	f.addSandbox("01k5m3v9x2qh00000000000000")
	return f, newCLI(t, f.URL)
}

func TestExecEndsWithTheCommandsStatus(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"seven": 7, "killed": 137, "missing": 127, "slow": 124, "greedy": 137, "lost": 125} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			_, c := withSandbox(t)
			r := c.run("exec", "--quiet", string(fakeSandbox), "-c", script)
			if diff := cmp.Diff(result{want, "out", "err"}, r, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("berth exec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecPassesTheWholeInputAtThePaceOfTheCommand(t *testing.T) {
	t.Parallel()
	_, c := withSandbox(t)
	c.clock = newHurriedClock()
	input := make([]byte, 3<<20+17)
	rand.New(rand.NewSource(1)).Read(input)
	c.stdin = bytes.NewReader(input)
	r := c.ok("exec", string(fakeSandbox)[:14], "--", "cat")
	if r.stdout != string(input) {
		t.Errorf("%d bytes came back, want the %d that went in", len(r.stdout), len(input))
	}
}

func TestExecSendsTheRequest(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	c.ok("exec", "--dir", "sub", "--env", "A=b=c", "--env", "E=", "--timeout", "5s", string(fakeSandbox), "--", "cat", "-A", "a b", "--env")
	want := berth.CommandRequest{
		Command: []string{"cat", "-A", "a b", "--env"}, Dir: "sub", Env: map[string]string{"A": "b=c", "E": ""}, Timeout: "5s", Stdin: true,
	}
	if diff := cmp.Diff(want, f.commands["cmd-1"].request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestExecLeavesStandardInputAlone(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	rest := strings.NewReader("the loop's own")
	c.stdin = rest
	c.run("exec", "--no-stdin", string(fakeSandbox), "-c", "seven")
	if f.commands["cmd-1"].request.Stdin || rest.Len() != len("the loop's own") {
		t.Errorf("stdin was asked for or read: %+v, %d bytes left", f.commands["cmd-1"].request, rest.Len())
	}
}

func TestExecPassesCtrlCOn(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	c.signals <- os.Interrupt
	r := c.run("exec", "--no-stdin", string(fakeSandbox), "-c", "wait")
	if r.status != 130 || len(f.commands["cmd-1"].signals) != 1 || f.commands["cmd-1"].signals[0] != "INT" {
		t.Errorf("berth exec = %d with signals %q, want 130 with INT", r.status, f.commands["cmd-1"].signals)
	}
}

func TestExecIsLeftByASecondCtrlC(t *testing.T) {
	t.Parallel()
	_, c := withSandbox(t)
	c.signals <- os.Interrupt
	c.signals <- os.Interrupt
	r := c.run("exec", "--no-stdin", string(fakeSandbox), "-c", "ignore signals")
	if r.status != 130 {
		t.Errorf("berth exec = %d, want 130", r.status)
	}
	mustContain(t, "stderr", r.stderr, "left command cmd-1")
}

func TestExecRefusesWrongUseWith125(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no sandbox":                 {[]string{"exec", "--", "ls"}, "id of a sandbox or run is missing"},
		"nothing to run":             {[]string{"exec", string(fakeSandbox)}, "nothing to run"},
		"a command without dashes":   {[]string{"exec", string(fakeSandbox), "ls"}, "put `--` before the command"},
		"a script and a command":     {[]string{"exec", string(fakeSandbox), "-c", "true", "--", "ls"}, "not both"},
		"what is no id":              {[]string{"exec", "my-box", "--", "ls"}, "no id of a sandbox or run"},
		"an id that nothing has":     {[]string{"exec", "01k5m3zzzzzz", "--", "ls"}, "no sandbox and no run begins with"},
		"a variable without a value": {[]string{"exec", "--env", "A", string(fakeSandbox), "--", "ls"}, "--env must be NAME=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, c := withSandbox(t)
			r := c.run(test.args...)
			if r.status != 125 || len(f.commands) > 0 {
				t.Errorf("berth %q = %d with %d commands, want 125 with none", test.args, r.status, len(f.commands))
			}
			mustContain(t, "stderr", r.stderr, test.want)
		})
	}
}

func TestASandboxIsFoundByItsRun(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	c.ok("run", "-d", "-e", "local", "--", "true")
	if r := c.run("exec", string(f.runs[0].run.ID), "-c", "seven"); r.status != 7 {
		t.Errorf("berth exec RUN = %d, want 7; stderr:\n%s", r.status, r.stderr)
	}
	f.runs[0].run.Sandbox = ""
	r := c.run("exec", string(f.runs[0].run.ID), "-c", "seven")
	if r.status != 125 {
		t.Errorf("berth exec of a run without a sandbox = %d, want 125", r.status)
	}
	mustContain(t, "stderr", r.stderr, "has no sandbox", "--preserve-sandbox")
	// The prefix of both is ambiguous: 01k5m3v9x2q begins the run and the sandbox.
	f.runs[0].run.Sandbox = "01k5m3v9x2qz00000000000000"
	if r := c.run("exec", "01k5m3v9x2q", "-c", "seven"); r.status != 125 {
		t.Errorf("berth exec of an ambiguous prefix = %d, want 125", r.status)
	}
}
