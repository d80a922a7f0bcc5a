package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

const commandStage = "01-command"

func TestARunGoesFromAdmissionToTheEndOfItsSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	id := b.create(definition("echo", "hello"))
	run := b.ended(id)
	if run.Status != berth.RunSucceeded || run.Reason != nil || run.Exit == nil || !run.Exit.Succeeded() || run.Hint != "" {
		t.Errorf("run = %s, %+v, %+v", run.Status, run.Reason, run.Exit)
	}
	stdout, _, exit := b.output(id, commandStage)
	if stdout != "hello\n" || exit == nil || exit.Code != 0 {
		t.Errorf("output = %q, exit = %+v", stdout, exit)
	}
	var story []string
	for _, e := range b.events(id) {
		story = append(story, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Status)))
	}
	want := []string{
		"run.status submitted", "run.status provisioning", "sandbox.status creating", "sandbox.status ready", "run.status running",
		"stage.started running", "output", "stage.ended succeeded", "sandbox.status destroyed", "run.status succeeded",
	}
	// Output may come in one piece or several.
	if diff := cmp.Diff(want, compact(story)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	path := []string{
		"Admit", "IsThereRoom", "Provision", "IsItReady", "Advance", "IsThereMore", "Start", "Follow", "HasItEnded",
		"Advance", "IsThereMore", "Teardown", "Finish",
	}
	if diff := cmp.Diff(path, b.walked()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	cmd, err := b.records.FindCommand(t.Context(), run.Sandbox, "stage-01-command")
	if err != nil || cmd.Status != berth.CommandEnded || cmd.Exit == nil {
		t.Errorf("command = %+v, %v", cmd, err)
	}
	if live, err := b.records.HasLiveRuns(t.Context()); err != nil || live {
		t.Errorf("HasLiveRuns() = %v, %v after the end", live, err)
	}
}

func compact(s []string) []string {
	var out []string
	for _, v := range s {
		if v != "output" || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}

func TestARunOfOneStageWritesItsExecutionAtMostTenTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	counter := &execWrites{Table: b.table}
	b.process.close(t)
	b.process = b.open(counter)
	b.ended(b.create(definition("true")))
	if n := counter.count(); n > 10 || n < 3 {
		t.Errorf("the execution was written %d times", n)
	}
}

// execWrites counts writes of executions.
type execWrites struct {
	berth.Table
	mu sync.Mutex // guards n
	n  int
}

func (e *execWrites) Put(ctx context.Context, item berth.Item) (int64, error) {
	if item.PK == "exec" {
		e.mu.Lock()
		e.n++
		e.mu.Unlock()
	}
	return e.Table.Put(ctx, item)
}

func (e *execWrites) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

func TestTheEndOfAStageIsTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	memory := berth.Size("64MiB")
	for name, c := range map[string]struct {
		argv   []string
		change func(*berth.Definition)
		status berth.RunStatus
		code   string
		says   string
		exit   berth.Exit
	}{
		"a status other than 0": {
			argv: []string{"exit", "7"}, status: berth.RunFailed, code: berth.ReasonCommandFailed, says: "the command ended with status 7",
			exit: berth.Exit{Code: 7, Reason: berth.ExitExited},
		},
		"a program that is not there": {
			argv: []string{"no-such-program"}, status: berth.RunFailed, code: berth.ReasonCommandFailed, says: "status 127",
			exit: berth.Exit{Code: 127, Reason: berth.ExitExited},
		},
		"a timeout": {
			argv: []string{"sleep"}, change: func(d *berth.Definition) { d.Timeout = "20ms" },
			status: berth.RunFailed, code: berth.ReasonTimedOut, says: "timeout of 20ms",
			exit: berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitTimedOut},
		},
		"too little memory": {
			argv: []string{"hog"}, change: func(d *berth.Definition) { d.Environment.Resources.Memory = &memory },
			status: berth.RunFailed, code: berth.ReasonOutOfMemory, says: "limit of 64MiB",
			exit: berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitOutOfMemory},
		},
		"a signal": {
			argv: []string{"killed"}, status: berth.RunFailed, code: berth.ReasonCommandFailed, says: "signal TERM",
			exit: berth.Exit{Code: 143, Signal: "TERM", Reason: berth.ExitSignalled},
		},
		"a vanished sandbox": {
			argv: []string{"vanish"}, status: berth.RunFailed, code: berth.ReasonLost, says: "gone",
			exit: berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the sandbox is gone"},
		},
		"a cancelled command": {
			argv: []string{"cancelled"}, status: berth.RunCancelled, code: berth.ReasonCancelled, says: "cancelled",
			exit: berth.Exit{Code: 137, Reason: berth.ExitCancelled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{})
			var id berth.RunID
			ready := make(chan struct{})
			end := func(exit berth.Exit) runnertest.Program {
				return func(p *runnertest.Process) int { p.End(exit); return 0 }
			}
			b.provider.Programs["hog"] = end(berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitOutOfMemory})
			b.provider.Programs["killed"] = end(berth.Exit{Code: 143, Signal: "TERM", Reason: berth.ExitSignalled})
			b.provider.Programs["cancelled"] = end(berth.Exit{Code: 137, Reason: berth.ExitCancelled})
			b.provider.Programs["vanish"] = func(*runnertest.Process) int {
				<-ready
				head, err := b.records.FindHead(t.Context(), id)
				if err != nil {
					t.Error(err)
				}
				b.provider.Vanish(head.Sandbox)
				return 0
			}
			def := definition(c.argv...)
			if c.change != nil {
				c.change(&def)
			}
			id = b.create(def)
			close(ready)
			run := b.ended(id)
			if run.Status != c.status || run.Reason == nil || run.Reason.Code != c.code || !strings.Contains(run.Reason.Message, c.says) {
				t.Errorf("run ended %s because of %+v, want %s, %s, %q", run.Status, run.Reason, c.status, c.code, c.says)
			}
			if diff := cmp.Diff(&c.exit, run.Exit); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
			if got := b.provider.Status(run.Sandbox); got != berth.SandboxGone {
				t.Errorf("the sandbox is %s after the run", got)
			}
		})
	}
}

func TestPrepareStepsRunInOrderWithTheirOwnVariables(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	def := definition("env")
	def.WorkingDir = "sub/dir"
	def.Environment.Env = map[string]string{"A": "environment", "B": "environment"}
	def.Prepare = []berth.Step{
		{Name: "install", Command: []string{"env"}, Env: map[string]string{"B": "step"}},
		{Script: "true", Timeout: "2m"},
	}
	id := b.create(def)
	run := b.ended(id)
	if run.Status != berth.RunSucceeded {
		t.Fatalf("run ended %s because of %+v", run.Status, run.Reason)
	}
	var names []string
	for _, s := range run.Stages {
		names = append(names, string(s.ID)+" "+s.Name+" "+string(s.Status))
	}
	if diff := cmp.Diff([]string{"01-prepare install succeeded", "02-prepare prepare 2 succeeded", "03-command command succeeded"}, names); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if out, _, _ := b.output(id, "01-prepare"); out != "A=environment\nB=step\n" {
		t.Errorf("the step's variables are %q", out)
	}
	if out, _, _ := b.output(id, "03-command"); out != "A=environment\nB=environment\n" {
		t.Errorf("the command's variables are %q", out)
	}
	for stage, timeout := range map[berth.CommandID]berth.Duration{"stage-01-prepare": "300s", "stage-02-prepare": "120s", "stage-03-command": ""} {
		cmd, err := b.records.FindCommand(t.Context(), run.Sandbox, stage)
		if err != nil || cmd.Timeout != timeout || cmd.Dir != "sub/dir" {
			t.Errorf("%s has timeout %q and directory %q, %v, want %q", stage, cmd.Timeout, cmd.Dir, err, timeout)
		}
	}
}

func TestAFailedPrepareStepSkipsTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	def := definition("true")
	def.Prepare = []berth.Step{{Command: []string{"false"}}, {Command: []string{"true"}}}
	run := b.ended(b.create(def))
	var statuses []berth.StageStatus
	for _, s := range run.Stages {
		statuses = append(statuses, s.Status)
	}
	if diff := cmp.Diff([]berth.StageStatus{berth.StageFailed, berth.StageSkipped, berth.StageSkipped}, statuses); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonPrepareFailed || run.Exit.Code != 1 {
		t.Errorf("run ended %s because of %+v with %+v", run.Status, run.Reason, run.Exit)
	}
}

func TestTheFirstOutputIsRecordedWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	finish := make(chan struct{})
	b.provider.Programs["ask"] = func(p *runnertest.Process) int {
		p.Write(berth.Stdout, []byte("first"))
		<-finish
		return 0
	}
	id := b.create(definition("ask"))
	b.until(id, "heard", func(records.Head) bool {
		out, _, _ := b.output(id, commandStage)
		return out == "first"
	})
	close(finish)
	b.ended(id)
}

func TestBulkOutputIsRecordedWholeInFewPieces(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	const size = 8 << 20
	id := b.create(definition("bytes", fmt.Sprint(size)))
	b.ended(id)
	if out, _, _ := b.output(id, commandStage); out != string(runnertest.Pattern(size)) {
		t.Errorf("%d bytes came, and they are not what was written", len(out))
	}
	if n := b.blobs.Len(); n > 20 {
		t.Errorf("8 MiB are in %d pieces", n)
	}
}
