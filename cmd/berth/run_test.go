package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// commandRun is a run whose command wrote frames and ended.
func commandRun(status berth.RunStatus, exit berth.Exit, frames ...berth.Frame) fakeRun {
	end := fakeNow.Add(1200 * time.Millisecond)
	run := fakeRun{
		run: berth.Run{
			Status: status, Exit: &exit, EndedAt: &end, Sandbox: fakeSandbox,
			Stages: []berth.Stage{{ID: "command", Kind: berth.StageCommand, Name: "command", Exit: &exit, Status: berth.StageSucceeded, StartedAt: &end, EndedAt: &end}},
		},
		logs: map[berth.StageID][]berth.Frame{"command": frames},
	}
	add := func(e berth.Event) { run.events = append(run.events, e) }
	add(berth.Event{Kind: berth.EventRunStatus, Status: "provisioning"})
	add(berth.Event{Kind: berth.EventSandboxStatus, Message: "ready"})
	add(berth.Event{Kind: berth.EventStageStarted, Stage: "command"})
	for i, frame := range frames {
		piece := &berth.OutputPiece{From: int64(i), To: int64(i) + 1}
		if i%2 == 0 { // every other one only refers to the log
			piece.Frames = []berth.Frame{frame}
		}
		add(berth.Event{Kind: berth.EventOutput, Stage: "command", Output: piece})
	}
	add(berth.Event{Kind: berth.EventStageEnded, Stage: "command", Exit: &exit})
	add(berth.Event{Kind: berth.EventRunStatus, Status: string(status), Exit: &exit})
	return run
}

func exited(code int) berth.Exit { return berth.Exit{Code: code, Reason: berth.ExitExited} }

func frame(stream berth.Stream, data string) berth.Frame {
	return berth.Frame{Stream: stream, Data: []byte(data)}
}

func TestRunKeepsTheStreamsApartAndEndsWithTheStatus(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunFailed, exited(7), frame(berth.Stdout, "out\x00\xff"), frame(berth.Stderr, "err"), frame(berth.Stdout, "no newline"))
	r := newCLI(t, f.URL).run("run", "--quiet", "-e", "local", "--", "sh", "-c", "exit 7")
	if diff := cmp.Diff(result{7, "out\x00\xffno newline", "err"}, r, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("berth run (-want +got):\n%s", diff)
	}
}

func TestRunTellsOnStandardErrorWhatHappened(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunFailed, exited(7), frame(berth.Stderr, "no newline"))
	f.plan.run.Reason = &berth.Reason{Code: berth.ReasonCommandFailed, Message: "the command ended with 7"}
	f.plan.run.Hint = "cd /work"
	r := newCLI(t, f.URL).run("run", "-e", "local", "--", "false")
	mustContain(t, "stderr", r.stderr,
		"berth: run 01k5m3v9x2qf in environment local (local)\n",
		"no newline\nberth: run 01k5m3v9x2qf failed after 1.2s: command_failed: the command ended with 7\n",
		"get back in with: cd /work\n")
	if r.stdout != "" {
		t.Errorf("stdout = %q, want nothing", r.stdout)
	}
}

func TestRunSendsTheArgumentsAsTyped(t *testing.T) {
	t.Parallel()
	argv := []string{"-x", "--environment", "a b", `"q"`, "$HOME", "", "--", "*"}
	f := newFake(t)
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	c := newCLI(t, f.URL)
	c.ok(append([]string{"run", "-e", "local", "--timeout", "5m", "--label", "a=b=c", "--preserve-sandbox", "--"}, argv...)...)
	yes := true
	want := berth.RunRequest{
		Environment: "local", Command: argv, SourceDirectory: c.dir, Timeout: "5m", Labels: map[string]string{"a": "b=c"}, PreserveSandbox: &yes,
	}
	if diff := cmp.Diff(want, f.runRequest); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestRunSendsAScriptAndTheConfigFiles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	f.preflight = berth.Preflight{OK: true, Environment: &berth.Environment{Provider: berth.ProviderLocal}}
	c := newCLI(t, f.URL)
	c.write(".berth/project.toml", "[run.environment]\nid = \"ci\"\n")
	c.ok("run", "-c", "echo 'a  b' $X")
	if f.runRequest.Script != "echo 'a  b' $X" || f.runRequest.Command != nil {
		t.Errorf("script = %q, command = %q", f.runRequest.Script, f.runRequest.Command)
	}
	if len(f.runRequest.Configs) != 1 || f.runRequest.Configs[0].Kind != berth.ConfigProject {
		t.Errorf("configs = %+v, want the project file", f.runRequest.Configs)
	}
}

func TestRunRefusesWrongUseWith125(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing to run":               {[]string{"run", "-e", "local"}, "nothing to run"},
		"nothing after the dashes":     {[]string{"run", "--"}, "nothing to run"},
		"a command without dashes":     {[]string{"run", "ls", "--", "x"}, "put `--` before the command"},
		"a script and a command":       {[]string{"run", "-c", "true", "--", "ls"}, "not both"},
		"an empty script":              {[]string{"run", "-c", ""}, "script of -c is empty"},
		"an unknown flag":              {[]string{"run", "--enviroment", "x", "--", "ls"}, "did you mean --environment?"},
		"a command's flag too early":   {[]string{"run", "-Z", "--", "ls"}, "put `--` before the command"},
		"a timeout without a unit":     {[]string{"run", "--timeout", "90", "--", "ls"}, "--timeout: has no unit: must be one whole number"},
		"a label without a value":      {[]string{"run", "--label", "a", "--", "ls"}, "--label must be NAME=VALUE"},
		"a target of an unknown kind":  {[]string{"run", "--target", "svn:x", "--", "ls"}, "--target: must be git:"},
		"a workflow that is not there": {[]string{"run", "--workflow", "nightly", "--", "ls"}, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := newCLI(t, f.URL).run(test.args...)
			if r.status != 125 || r.stdout != "" {
				t.Errorf("berth %q = %d with stdout %q, want 125 with none", test.args, r.status, r.stdout)
			}
			mustContain(t, "stderr", r.stderr, test.want)
			if len(f.requests) > 0 {
				t.Errorf("requests = %q, want none", f.requests)
			}
		})
	}
}

func TestRunTellsWhyItCouldNotStart(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.refuse = func(method, path string) *problem {
		if method+path != "POST/runs" {
			return nil
		}
		return &problem{
			Code: berth.CodeInvalid, Detail: "2 fields are invalid", Remediation: "Change them.",
			Errors: []berth.Problem{{Location: "env.A", Message: "is bad"}, {Location: "labels.x", Message: "is worse\x1b[2J"}},
		}
	}
	r := newCLI(t, f.URL).run("run", "-e", "local", "--", "true")
	want := "berth: invalid: 2 fields are invalid\n  env.A: is bad\n  labels.x: is worse\\x1b[2J\n  to do: Change them.\n"
	if r.status != 125 || r.stderr != want {
		t.Errorf("berth run = %d and\n%s\nwant 125 and\n%s", r.status, r.stderr, want)
	}
}

func TestRunWithJSONPrintsALineAnEvent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunSucceeded, exited(0), frame(berth.Stdout, "a"), frame(berth.Stderr, "b"))
	r := newCLI(t, f.URL).ok("run", "--json", "-e", "local", "--", "true")
	var output string
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	for i, line := range lines {
		var e berth.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != int64(i)+1 {
			t.Fatalf("line %d = %q: seq %d, %v", i, line, e.Seq, err)
		}
		if e.Output != nil {
			for _, frame := range e.Output.Frames {
				output += string(frame.Stream) + " " + string(frame.Data) + ";"
			}
		}
	}
	if len(lines) != len(f.plan.events) || output != "stdout a;stderr b;" {
		t.Errorf("%d lines with output %q, want %d with all of it", len(lines), output, len(f.plan.events))
	}
}

func TestRunDetachedPrintsTheIdAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	c := newCLI(t, f.URL)
	if r := c.ok("run", "--detach", "-e", "local", "--", "true"); r.stdout != "01k5m3v9x2qf\n" {
		t.Errorf("stdout = %q, want the shortest id", r.stdout)
	}
	// A second run that begins alike needs more of its id.
	if r := c.ok("run", "-d", "-e", "local", "--", "true"); r.stdout != string(f.runs[1].run.ID)+"\n" {
		t.Errorf("stdout = %q, want %s", r.stdout, f.runs[1].run.ID)
	}
}

func TestCtrlCCancelsTheRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunRunning, exited(0))
	f.plan.hold = true
	c := newCLI(t, f.URL)
	c.signals <- os.Interrupt
	r := c.run("run", "-e", "local", "--", "sleep", "600")
	if r.status != 130 || !f.sent("POST /runs/"+string(f.runs[0].run.ID)+"/cancel") {
		t.Errorf("berth run = %d after Ctrl-C, want 130 and a cancel; stderr:\n%s", r.status, r.stderr)
	}
	mustContain(t, "stderr", r.stderr, "berth: cancelling the run; Ctrl-C again leaves it\n", "berth: run 01k5m3v9x2qf cancelled after 1.2s\n")
	if strings.Count(r.stderr, "cancelling") != 1 {
		t.Errorf("stderr says more than once that the run is cancelled:\n%s", r.stderr)
	}
}

func TestASecondCtrlCLeavesTheRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunRunning, exited(0))
	f.plan.hold = true
	f.refuse = func(_, path string) *problem {
		if strings.HasSuffix(path, "/cancel") {
			return problemf(berth.CodeConflict, "not now")
		}
		return nil
	}
	c := newCLI(t, f.URL)
	c.signals <- os.Interrupt
	c.signals <- syscall.SIGTERM
	if r := c.run("run", "-e", "local", "--", "sleep", "600"); r.status != 130 {
		t.Errorf("berth run = %d after two signals, want 130; stderr:\n%s", r.status, r.stderr)
	}
}

// brokenPipe fails as a pipe does that nobody reads.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestRunIsCancelledWhenNobodyReadsItsOutput(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.plan = commandRun(berth.RunRunning, exited(0), frame(berth.Stdout, "x"))
	f.plan.hold = true
	c := newCLI(t, f.URL)
	var stderr bytes.Buffer
	status := c.app(brokenPipe{}, &stderr).execute(context.Background(), []string{"run", "-e", "local", "--", "yes"})
	if status != 125 || !f.sent("POST /runs/"+string(f.runs[0].run.ID)+"/cancel") {
		t.Errorf("status = %d, want 125 and a cancel; stderr:\n%s", status, stderr.String())
	}
}
