package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

func TestACreatedRunRunsInItsDirectoryAndEnds(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.ended(p.create(p.request("echo", "hello")))
	if run.Status != berth.RunSucceeded || run.CreatedBy != "tester" || run.Environment.ID != "local" {
		t.Errorf("run = %+v", run)
	}
	specs := p.provider.Specs()
	if len(specs) == 0 || specs[0].Directory != p.dir || specs[0].Installation != "inst" || specs[0].Run != run.ID {
		t.Errorf("the sandbox was asked for with %+v", specs)
	}
}

func TestRunsThatCannotBeAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	missing := "/no/such/directory"
	for name, c := range map[string]struct {
		set  func(*plane)
		req  berth.RunRequest
		code berth.Code
		says string
	}{
		"an unknown environment": {req: berth.RunRequest{Environment: "nowhere", Command: []string{"true"}}, code: berth.CodeNotFound, says: "nowhere"},
		"no command":             {req: berth.RunRequest{Environment: "local"}, code: berth.CodeInvalid, says: "command"},
		"a directory that is not there": {
			req: berth.RunRequest{Environment: "local", Command: []string{"true"}, SourceDirectory: missing}, code: berth.CodeInvalid, says: "directory",
		},
		"a git target on local": {
			req:  berth.RunRequest{Environment: "local", Command: []string{"true"}, Target: &berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/a/b.git", Branch: "main"}},
			code: berth.CodeUnsupported, says: "target",
		},
		"a network that local cannot block": {
			set:  func(p *plane) { p.environment("e", func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock }) },
			req:  berth.RunRequest{Environment: "e", Command: []string{"true"}},
			code: berth.CodeUnsupported, says: "network",
		},
		"a provider that is off": {
			set:  func(p *plane) { p.environment("e", func(e *berth.Environment) { e.Provider = berth.ProviderDocker }) },
			req:  berth.RunRequest{Environment: "e", Command: []string{"true"}},
			code: berth.CodeInvalid, says: "docker",
		},
		"a secret that is missing": {
			set: func(p *plane) {
				p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ secrets.ABSENT }}"} })
			},
			req: berth.RunRequest{Environment: "e", Command: []string{"true"}, SourceDirectory: "/"}, code: berth.CodeInvalid, says: "ABSENT",
		},
		"a secret that is a file": {
			set: func(p *plane) {
				p.secret("CERT", "certificate", berth.SecretFile)
				p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ secrets.CERT }}"} })
			},
			req: berth.RunRequest{Environment: "e", Command: []string{"true"}, SourceDirectory: "/"}, code: berth.CodeInvalid, says: "CERT",
		},
		"a variable that is missing": {
			set: func(p *plane) {
				p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ vars.ABSENT }}"} })
			},
			req: berth.RunRequest{Environment: "e", Command: []string{"true"}, SourceDirectory: "/"}, code: berth.CodeInvalid, says: "ABSENT",
		},
		"too many stages": {
			req: berth.RunRequest{
				Environment: "local", Command: []string{"true"}, SourceDirectory: "/",
				Configs: []berth.ConfigFile{{Kind: berth.ConfigProject, Path: "p.toml", Source: strings.Repeat("[[run.prepare.steps]]\nscript = \"true\"\n", 95)}},
			},
			code: berth.CodeInvalid, says: "stages",
		},
		"a disk that is full": {
			set:  func(p *plane) { p.Room = func() error { return berth.Errorf(berth.CodeUnavailable, "no space") } },
			req:  berth.RunRequest{Environment: "local", Command: []string{"true"}, SourceDirectory: "/"},
			code: berth.CodeUnavailable, says: "no space",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			if c.set != nil {
				c.set(p)
			}
			_, err := p.CreateRun(t.Context(), berth.RunID(p.IDs.NewID()), c.req, "tester")
			wantCode(t, "CreateRun()", err, c.code)
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("CreateRun() = %v, want it to name %q", err, c.says)
			}
			if live, err := p.Records.HasLiveRuns(t.Context()); err != nil || live {
				t.Errorf("a refused run is live: %v, %v", live, err)
			}
			if sandboxes, _, err := p.Records.ListSandboxes(t.Context(), 10, ""); err != nil || len(sandboxes) > 0 {
				t.Errorf("a refused run has sandboxes: %v, %v", sandboxes, err)
			}
		})
	}
}

func TestARunThatIsRecordedUnderItsIDIsStartedAndNotMadeAgain(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	id, req := berth.RunID(p.IDs.NewID()), p.request("true")
	started := p.Orchestrator
	p.Orchestrator = deadOrchestrator{started} // as when the server dies before the start
	if _, err := p.CreateRun(t.Context(), id, req, "tester"); err != nil {
		t.Fatal(err)
	}
	p.Orchestrator = started
	req.Environment = "gone-since" // what was resolved then counts
	for range 2 {
		if again, err := p.CreateRun(t.Context(), id, req, "tester"); err != nil || again != id {
			t.Fatalf("CreateRun() = %s, %v, want %s", again, err, id)
		}
		p.ended(id)
	}
	if runs, _, err := p.Records.ListRuns(t.Context(), 10, ""); err != nil || len(runs) != 1 || runs[0].Status != berth.RunSucceeded {
		t.Errorf("runs = %+v, %v, want one that succeeded", runs, err)
	}
}

// deadOrchestrator forgets what it is to start.
type deadOrchestrator struct{ berth.Orchestrator }

func (deadOrchestrator) Start(context.Context, berth.ExecutionID, []byte) error { return nil }

// closedOrchestrator starts nothing.
type closedOrchestrator struct{ berth.Orchestrator }

func (closedOrchestrator) Start(context.Context, berth.ExecutionID, []byte) error {
	return berth.Errorf(berth.CodeUnavailable, "the server is ending")
}

func TestARunWhoseExecutionCannotStartHasFailed(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.Orchestrator = closedOrchestrator{p.Orchestrator}
	_, err := p.CreateRun(t.Context(), berth.RunID(p.IDs.NewID()), p.request("true"), "tester")
	wantCode(t, "CreateRun()", err, berth.CodeUnavailable)
	runs, _, err := p.Records.ListRuns(t.Context(), 10, "")
	if err != nil || len(runs) != 1 || runs[0].Status != berth.RunFailed {
		t.Fatalf("runs = %+v, %v, want one that failed", runs, err)
	}
	run := p.ended(runs[0].ID)
	if run.Reason.Code != berth.ReasonExecutionFailed || run.Stages[0].Status != berth.StageSkipped {
		t.Errorf("run ended because of %+v, its stage is %s", run.Reason, run.Stages[0].Status)
	}
}

func TestALiveRunCannotBeDeletedAndAnEndedOneGoesWithItsSandbox(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	keep := true
	req := p.request("sleep")
	req.PreserveSandbox = &keep
	id := p.create(req)
	run := p.until(id, running)
	wantCode(t, "DeleteRun of a live run", p.DeleteRun(t.Context(), id), berth.CodeConflict)
	wantCode(t, "DestroySandbox of a live run", p.DestroySandbox(t.Context(), run.Sandbox), berth.CodeConflict)
	_, err := p.StopSandbox(t.Context(), run.Sandbox)
	wantCode(t, "StopSandbox of a live run", err, berth.CodeConflict)
	if err := p.CancelRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if run := p.ended(id); run.Status != berth.RunCancelled {
		t.Fatalf("run ended %s", run.Status)
	}
	wantCode(t, "CancelRun of an ended run", p.CancelRun(t.Context(), id), berth.CodeConflict)
	p.provider.Fail("Destroy", berth.Errorf(berth.CodeUnavailable, "hangs"))
	wantCode(t, "DeleteRun with a sandbox that stays", p.DeleteRun(t.Context(), id), berth.CodeUnavailable)
	if err := p.DeleteRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := p.provider.Status(run.Sandbox); got != berth.SandboxGone {
		t.Errorf("the sandbox is %s", got)
	}
	wantCode(t, "DeleteRun again", p.DeleteRun(t.Context(), id), berth.CodeNotFound)
	_, err = p.Records.FindSandbox(t.Context(), run.Sandbox)
	wantCode(t, "FindSandbox", err, berth.CodeNotFound)
	_, err = p.Records.FindCommand(t.Context(), run.Sandbox, "stage-01-command")
	wantCode(t, "FindCommand", err, berth.CodeNotFound)
}

func TestADeletionThatWasCutShortCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.ended(p.create(p.request("true")))
	if err := p.Records.DeleteSandbox(t.Context(), run.Sandbox); err != nil { // and then the server died
		t.Fatal(err)
	}
	if err := p.DeleteRun(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
}

// crowdedBlobs lets others in while output is deleted.
type crowdedBlobs struct {
	berth.Blobs
	meanwhile func()
}

func (b *crowdedBlobs) DeletePrefix(ctx context.Context, prefix string) error {
	if then := b.meanwhile; then != nil {
		b.meanwhile = nil
		then()
	}
	return b.Blobs.DeletePrefix(ctx, prefix)
}

func TestOfTwoDeletionsOfARunOneFindsItGone(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.ended(p.create(p.request("true")))
	p.Records.Blobs = &crowdedBlobs{p.Records.Blobs, func() {
		if err := p.DeleteRun(t.Context(), run.ID); err != nil {
			t.Errorf("the other deletion: %v", err)
		}
	}}
	wantCode(t, "DeleteRun beside another", p.DeleteRun(t.Context(), run.ID), berth.CodeNotFound)
}

func TestADisabledProviderSaysHowItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	for _, kind := range berth.ProviderKinds {
		_, err := control.NewProviders().Find(kind)
		wantCode(t, "Find", err, berth.CodeUnsupported)
		var e *berth.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, string(kind)) || !strings.Contains(e.Remediation, "witch it on") {
			t.Errorf("Find(%s) = %+v", kind, e)
		}
	}
}

func TestNudgingASandboxWakesNobodyWhoDoesNotWait(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.until(p.create(p.request("sleep")), running)
	if err := p.Nudge(t.Context(), run.Sandbox); err != nil {
		t.Error(err)
	}
	wantCode(t, "Nudge of an unknown sandbox", p.Nudge(t.Context(), "nobody"), berth.CodeNotFound)
	if err := p.CancelRun(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p.ended(run.ID)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the cancel took %s", took)
	}
}

func TestASandboxSaysWhileItsRunLivesWhetherItIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lifecycle berth.Lifecycle
		want      bool
	}{
		"destroyed at the end":        {berth.Lifecycle{StopOnTerminal: true}, false},
		"stopped at the end":          {berth.Lifecycle{Preserve: true, StopOnTerminal: true}, true},
		"left running at the end":     {berth.Lifecycle{Preserve: true}, true},
		"left running, but for a day": {berth.Lifecycle{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.environment("e", func(e *berth.Environment) { e.Lifecycle = tt.lifecycle })
			req := p.request("sleep", "1000")
			req.Environment = "e"
			run := p.until(p.create(req), running)
			sb, err := p.Records.FindSandbox(t.Context(), run.Sandbox)
			if err != nil || sb.KeptAfterRun != tt.want || sb.Preserved || sb.KeepUntil != nil {
				t.Errorf("the sandbox is %+v, %v; want kept after its run: %t", sb, err, tt.want)
			}
			if err := p.CancelRun(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
			p.ended(run.ID)
		})
	}
}
