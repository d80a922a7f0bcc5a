//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

func TestRealRunsEndAsTheirCommandsDo(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		for name, test := range map[string]struct {
			args   []string
			want   result
			signal string
			reason berth.ExitReason
		}{
			"streams apart and exit 7": {
				[]string{"--", "sh", "-c", "echo out; echo err >&2; exit 7"}, result{7, "out\n", "err\n"}, "", berth.ExitExited,
			},
			"no final newline":               {[]string{"-c", "printf out; printf err >&2"}, result{0, "out", "err"}, "", berth.ExitExited},
			"a signal":                       {[]string{"--", "sh", "-c", "kill -TERM $$"}, result{143, "", ""}, "TERM", berth.ExitSignalled},
			"arguments as typed":             {[]string{"--", "printf", "<%s>", "a  b", `"q"`, "$HOME", "", "--", "-x", "*", `\n`}, result{0, `<a  b><"q"><$HOME><><--><-x><*><\n>`, ""}, "", berth.ExitExited},
			"an argument that looks ours":    {[]string{"--", "echo", "--environment", "-q"}, result{0, "--environment -q\n", ""}, "", berth.ExitExited},
			"what goes on in the background": {[]string{"-c", "sleep 300 & echo x"}, result{0, "x\n", ""}, "", berth.ExitExited},
		} {
			t.Run(name, func(t *testing.T) {
				got := m.run(append([]string{"run", "-q", "-e", m.environment}, test.args...)...)
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(result{})); diff != "" {
					t.Errorf("berth run (-want +got):\n%s", diff)
				}
				if run := m.newest(); run.Exit == nil || run.Exit.Signal != test.signal || run.Exit.Reason != test.reason {
					t.Errorf("exit = %+v, want signal %q and reason %s", run.Exit, test.signal, test.reason)
				}
			})
		}
		r := m.run("run", "-q", "-e", m.environment, "--", "no-such-program")
		if r.status != 127 || !strings.Contains(r.stderr, "no-such-program: not found") {
			t.Errorf("a missing program = %d and %q, want 127 and the shell's words", r.status, r.stderr)
		}
	})
}

func TestATimeoutEndsTheWholeTree(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		marker := fmt.Sprintf("sleep 600.%d", os.Getpid())
		r := m.run("run", "-e", m.environment, "--timeout", "1s", "-c", marker+" & "+marker)
		if r.status != 124 {
			t.Errorf("berth run = %d, want 124; stderr:\n%s", r.status, r.stderr)
		}
		if !within(endWait, func() bool { return processes(marker) == 0 }) {
			t.Errorf("%d processes are left", processes(marker))
		}
	})
}

func TestBinaryOutputIsByteExact(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		// The command says on stderr what it writes to stdout.
		r := m.run("run", "-q", "-e", m.environment, "-c", "head -c 5242883 /dev/urandom > blob; sha256sum < blob >&2; cat blob")
		sum := sha256.Sum256([]byte(r.stdout))
		if r.status != 0 || len(r.stdout) != 5242883 || r.stderr != hex.EncodeToString(sum[:])+"  -\n" {
			t.Errorf("berth run = %d with %d bytes of SHA-256 %x and %q", r.status, len(r.stdout), sum, r.stderr)
		}
		id := string(m.newest().ID)
		for _, args := range [][]string{{"runs", "logs", "-q", id}, {"runs", "logs", "-q", "-f", id}} {
			if got := m.ok(args...); got.stdout != r.stdout {
				t.Errorf("berth %q gives %d other bytes than the run", args, len(got.stdout))
			}
		}
	})
}

func TestTenRunsAtOnceOnAFreshDataFolderShareOneServer(t *testing.T) {
	m := newMachine(t)
	results := make([]result, 10)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = m.run("run", "-e", "local", "--", "true") })
	}
	all.Wait()
	started := 0
	for i, r := range results {
		if r.status != 0 {
			t.Errorf("run %d = %d\n%s", i, r.status, r.stderr)
		}
		started += strings.Count(r.stderr, "started a server")
	}
	if started != 1 {
		t.Errorf("%d servers were started, want 1", started)
	}
}

func TestADetachedRunCanBeShownAndFollowed(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		r := m.ok("run", "--detach", "-e", m.environment, "--label", "job=x", "-c", "echo begun; sleep 1; echo done")
		id := strings.TrimSpace(r.stdout)
		if len(id) < 12 || strings.ContainsAny(id, " \n") {
			t.Fatalf("stdout = %q, want an id alone", r.stdout)
		}
		if got := m.ok("runs", "logs", "-f", id).stdout; got != "begun\ndone\n" {
			t.Errorf("the log is %q", got)
		}
		mustContain(t, "the page", m.ok("runs", "show", id).stdout, "succeeded after", "job=x", "stages")
	})
}

func TestCtrlCCancelsARealRun(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		marker := fmt.Sprintf("sleep 601.%d", os.Getpid())
		// Only the command itself has the marker, not the berth that asks for it.
		cmd, stdout, stderr := m.command("run", "-e", m.environment, "-c", fmt.Sprintf("echo begun; sleep 601.$((%d))", os.Getpid()))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !within(endWait, func() bool { return processes(marker) > 0 && m.newest().Status == berth.RunRunning }) {
			t.Fatalf("the command does not run: %s", stderr)
		}
		interrupt(t, cmd.Process)
		_ = cmd.Wait() // its status is looked at below
		if cmd.ProcessState.ExitCode() != 130 || stdout.String() != "begun\n" {
			t.Errorf("berth run = %d with %q, want 130; stderr:\n%s", cmd.ProcessState.ExitCode(), stdout, stderr)
		}
		if run := m.newest(); run.Status != berth.RunCancelled {
			t.Errorf("the run is %s, want cancelled", run.Status)
		}
		if !within(endWait, func() bool { return processes(marker) == 0 }) {
			t.Errorf("%d processes are left", processes(marker))
		}
	})
}

func TestARunThatCannotStartTellsTheRemedy(t *testing.T) {
	m := newMachine(t)
	for name, args := range map[string][]string{
		"a folder that is not there": {"--target", "folder:/no/such/folder", "-e", "local"},
		"an unknown environment":     {"-e", "no-such"},
		"no code on local":           {"--target", "none", "-e", "local"},
		"a git target on local":      {"--target", "git:https://git.example/o/r#main", "-e", "local"},
	} {
		r := m.run(append(append([]string{"run"}, args...), "--", "true")...)
		if r.status != 125 || r.stdout != "" || !strings.Contains(r.stderr, "to do: ") {
			t.Errorf("%s: berth run = %d, %q and\n%s\nwant 125 with what to do", name, r.status, r.stdout, r.stderr)
		}
	}
}

func TestASecretIsMaskedInWhatPeopleSee(t *testing.T) {
	m := newMachine(t)
	const secret = "canary-4f9c2d"
	if r := m.runWith([]byte(secret+"\n"), "secret", "set", "TOKEN"); r.status != 0 {
		t.Fatalf("secret set = %d\n%s", r.status, r.stderr)
	}
	m.ok("var", "set", "WORD", "hello")
	m.ok("env", "create", "e", "-p", "local", "--env", "TOKEN={{ secrets.TOKEN }}", "--env", "WORD={{ vars.WORD }}")
	r := m.ok("run", "-e", "e", "-c", `echo "$WORD $TOKEN"; printf %s "$TOKEN" | base64; echo "$TOKEN" >&2; test ${#TOKEN} = 13`)
	mustContain(t, "stdout", r.stdout, "hello ***\n")
	id := string(m.newest().ID)
	for _, text := range []string{r.stdout, r.stderr, m.ok("runs", "show", "--json", id).stdout, m.ok("runs", "logs", id).stdout, m.ok("env", "export").stdout} {
		mustNotContain(t, "what people see", text, secret, "Y2FuYXJ5LTRmOWMyZA")
	}
	m.ok("secret", "rm", "TOKEN")
	if r := m.run("run", "-e", "e", "--", "true"); r.status != 125 {
		t.Errorf("a run without its secret = %d, want 125\n%s", r.status, r.stderr)
	}
}

func TestAFailedPrepareStepDecidesTheRun(t *testing.T) {
	m := newMachine(t)
	project := filepath.Join(m.dir, ".berth", "project.toml")
	if err := os.MkdirAll(filepath.Dir(project), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(project, []byte("[run.environment]\nid = \"local\"\n[[run.prepare.steps]]\nname = \"set up\"\nscript = \"echo preparing; exit 3\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := m.run("run", "--", "echo", "never")
	if r.status != 3 || r.stdout != "preparing\n" {
		t.Errorf("berth run = %d and %q, want the step's status 3", r.status, r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "✗ set up: exit 3", "prepare_failed")
}

func TestJSONEventsHoldTheWholeOutput(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		r := m.ok("run", "--json", "-e", m.environment, "-c", "head -c 100000 /dev/zero | tr '\\0' x")
		var output bytes.Buffer
		for line := range strings.Lines(r.stdout) {
			var e berth.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if e.Output != nil {
				for _, f := range e.Output.Frames {
					output.Write(f.Data)
				}
			}
		}
		if output.String() != strings.Repeat("x", 100000) {
			t.Errorf("%d bytes of output, want 100000", output.Len())
		}
	})
}

func TestServeInTheForeground(t *testing.T) {
	m := newMachine(t)
	cmd, stdout, stderr := m.command("serve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var found embedded.Found
	up := within(endWait, func() bool {
		var err error
		found, err = embedded.Find(t.Context(), m.data)
		return err == nil
	})
	if !up {
		t.Fatalf("no server:\n%s", stderr)
	}
	if r := m.run("serve"); r.status != 5 || !strings.Contains(r.stderr, "another server uses the data folder") {
		t.Errorf("a second server = %d\n%s\nwant 5", r.status, r.stderr)
	}
	m.ok("run", "-e", "local", "--", "true")
	interrupt(t, cmd.Process)
	if err := cmd.Wait(); err != nil || stdout.String() != found.URL+"\n" {
		t.Errorf("serve ended with %v after %q, want its URL %s and 0\n%s", err, stdout, found.URL, stderr)
	}
}

func TestABackgroundServerEndsWhenIdle(t *testing.T) {
	m := newMachine(t)
	m.env = append(m.env, "BERTH_IDLE=1s")
	m.ok("run", "-e", "local", "--", "true")
	found, err := embedded.Find(t.Context(), m.data)
	if err != nil {
		t.Fatal(err)
	}
	if !within(endWait, func() bool { return gone(found.PID) }) {
		t.Error("the server is still there")
	}
	// The next command starts another one, and finds what there was.
	mustContain(t, "the list", m.ok("runs", "list").stdout, "succeeded")
}

func TestALongDataFolderWorksOrSaysWhy(t *testing.T) {
	m := newMachine(t)
	m.data = filepath.Join(m.data, strings.Repeat("x", 200))
	m.env = append(m.env, "BERTH_DATA_DIR="+m.data)
	r := m.run("run", "-e", "local", "--", "true")
	if r.status != 0 && (r.status != 125 || !strings.Contains(r.stderr, "to do: ")) {
		t.Errorf("berth run = %d\n%s", r.status, r.stderr)
	}
}

func TestDoctorOnAHealthyMachine(t *testing.T) {
	m := newMachine(t)
	r := m.run("doctor", "--json")
	var report doctorReport
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.status != 0 || !report.OK {
		t.Errorf("berth doctor = %d, %v\n%s", r.status, err, r.stdout)
	}
	for _, check := range []string{"data folder", "bash", "guest", "server", "token", "local provider"} {
		if got := report.status(check); got != pass {
			t.Errorf("%s is %s, want pass", check, got)
		}
	}
}

func TestAServerThatDiesDuringARunIsStartedAgain(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		cmd, stdout, stderr := m.command("run", "-e", m.environment, "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !within(endWait, func() bool {
			f, err := embedded.Find(t.Context(), m.data)
			return err == nil && f.PID > 0 && processes("for i in 1 2 3") > 0
		}) {
			t.Fatal("the command does not run")
		}
		time.Sleep(300 * time.Millisecond) // somewhere in the middle
		found, err := embedded.Find(t.Context(), m.data)
		if err != nil {
			t.Fatal(err)
		}
		kill(t, found.PID)
		if err := cmd.Wait(); err != nil || stdout.String() != "1\n2\n3\n4\n5\n6\n" {
			t.Errorf("berth run: %v with %q, want every line once\n%s", err, stdout, stderr)
		}
	})
}
