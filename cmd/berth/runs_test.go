package main

import (
	"encoding/json"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func withRuns(t *testing.T) (*fake, *cli) {
	t.Helper()
	f := newFake(t)
	c := newCLI(t, f.URL)
	f.plan = commandRun(berth.RunSucceeded, exited(0), frame(berth.Stdout, "one\x00"), frame(berth.Stderr, "two"), frame(berth.Stdout, "three"))
	c.ok("run", "-d", "-e", "local", "--", "make", "a b")
	f.plan = commandRun(berth.RunFailed, berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled})
	f.plan.run.Reason = &berth.Reason{Code: berth.ReasonCommandFailed, Message: "killed by KILL", Remediation: "Find out who did it.\nAnd why."}
	c.ok("run", "-d", "-e", "local", "--label", "job=x", "-c", "echo '\x1b[31m'")
	return f, c
}

func TestRunsListIsATableWithTheShortestIds(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	r := c.ok("runs", "list")
	mustContain(t, "stdout", r.stdout, "RUN ", "failed", "succeeded", "make a b", string(f.runs[0].run.ID))
	r = c.ok("runs", "list", "--status", "failed", "--json")
	var list berth.List[berth.RunSummary]
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list.Items) != 1 || list.Items[0].ID != f.runs[1].run.ID {
		t.Errorf("runs list --status failed = %+v, %v; want the failed run", list, err)
	}
	if r := c.run("runs", "list", "--status", "broken"); r.status != 2 {
		t.Errorf("an unknown status = %d, want 2", r.status)
	}
}

func TestRunsShowIsAPageForPeople(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	r := c.ok("runs", "show", string(f.runs[1].run.ID))
	mustContain(t, "stdout", r.stdout,
		"failed after 1.2s", "command_failed: killed by KILL", "to do", "Find out who did it.", "And why.",
		"killed by signal KILL (137)", "local (local)", `bash -c 'echo '\''\x1b[31m'\'''`, "job=x", "\nstages\n  STAGE ")
	mustNotContain(t, "stdout", r.stdout, "\x1b")
}

func TestRunsShowWithJSONHasTheSignalsName(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	r := c.ok("runs", "show", "--json", string(f.runs[1].run.ID))
	var run berth.Run
	if err := json.Unmarshal([]byte(r.stdout), &run); err != nil || run.Exit == nil || run.Exit.Signal != "KILL" {
		t.Errorf("exit = %+v, %v; want the signal KILL", run.Exit, err)
	}
}

func TestRunsLogsAreByteExact(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	id := string(f.runs[0].run.ID)
	for _, args := range [][]string{{"runs", "logs", id}, {"runs", "logs", "-f", id}, {"runs", "logs", "--stage", "command", id}, {"runs", "logs", "-f", "--stage", "command", id}} {
		if r := c.ok(args...); r.stdout != "one\x00three" || r.stderr != "two" {
			t.Errorf("berth %q wrote %q and %q, want %q and %q", args, r.stdout, r.stderr, "one\x00three", "two")
		}
	}
	r := c.ok("runs", "logs", "--json", id)
	mustContain(t, "stdout", r.stdout, `{"stage":"command","stream":"stdout","data":"b25lAA=="}`+"\n")
	if r := c.run("runs", "logs", "--stage", "nothing", id); r.status != 4 {
		t.Errorf("an unknown stage = %d, want 4", r.status)
	}
}

func TestAStageIsNamedByItsIdOrItsName(t *testing.T) {
	t.Parallel()
	run := berth.Run{Stages: []berth.Stage{{ID: "01-prepare", Name: "vet"}, {ID: "02-prepare", Name: "vet"}, {ID: "03-command", Name: "command"}}}
	for wanted, want := range map[string]struct {
		id   string
		code berth.Code
	}{
		"02-prepare": {"02-prepare", ""},
		"command":    {"03-command", ""},
		"vet":        {"", berth.CodeConflict},
		"lint":       {"", berth.CodeNotFound},
	} {
		id, err := stageOf(run, wanted)
		if id != want.id || berth.CodeOf(err) != want.code {
			t.Errorf("stageOf(%q) = %q, %v; want %q, %s", wanted, id, err, want.id, want.code)
		}
	}
	_, err := stageOf(run, "lint")
	mustContain(t, "remedy", err.(*berth.Error).Remediation, "choose 01-prepare, 02-prepare or 03-command")
}

func TestRunsAreNamedByPrefixInAnyCase(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	c.ok("runs", "show", "01K5M3V9X2QF00000000000000")
	r := c.run("runs", "show", "01k5m3v9x2qf")
	if r.status != 5 {
		t.Errorf("a prefix of two runs = %d, want 5", r.status)
	}
	if r := c.run("runs", "show", "01k5m3zzzzzz"); r.status != 4 {
		t.Errorf("a prefix of no run = %d, want 4", r.status)
	}
	_ = f
}

func TestRemovingGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	f, c := withRuns(t)
	f.runs[0].run.Status = berth.RunRunning
	first, second := string(f.runs[0].run.ID), string(f.runs[1].run.ID)
	r := c.run("runs", "rm", first, "01k5m3zzzzzz", second)
	if r.status != 5 || !f.sent("DELETE /runs/"+second) {
		t.Errorf("berth runs rm = %d, want the first failure's 5 and the last run removed", r.status)
	}
	mustContain(t, "stderr", r.stderr, "conflict: "+first, "not_found: 01k5m3zzzzzz", "removed run "+second)
}

func TestSandboxesCanBeListedStoppedStartedAndDestroyed(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	mustContain(t, "list", c.ok("sandbox", "list").stdout, "SANDBOX", "01k5m3v9x2qg", "ready")
	mustContain(t, "page", c.ok("sandbox", "show", string(fakeSandbox)).stdout, "workspace", "/work", "get in", "cd /work")
	for _, step := range []struct {
		verb string
		want berth.SandboxStatus
	}{{"stop", berth.SandboxStopped}, {"start", berth.SandboxReady}, {"rm", berth.SandboxDestroyed}} {
		c.ok("sandbox", step.verb, string(fakeSandbox)[:13])
		if f.sandboxes[0].Status != step.want {
			t.Errorf("after %s the sandbox is %s, want %s", step.verb, f.sandboxes[0].Status, step.want)
		}
	}
	mustNotContain(t, "list", c.ok("sandbox", "list").stdout, "01k5m3v9x2qg")
	mustContain(t, "list", c.ok("sandbox", "list", "--all").stdout, "01k5m3v9x2qg")
}
