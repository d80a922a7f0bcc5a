package control_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// kept runs a command and returns the sandbox that outlived it.
func (p *plane) kept(stop bool, environment string, argv ...string) berth.Sandbox {
	p.t.Helper()
	keep := true
	req := p.request(argv...)
	req.Environment, req.PreserveSandbox = environment, &keep
	req.Configs = []berth.ConfigFile{{Kind: berth.ConfigProject, Path: "p.toml", Source: "[run.environment.lifecycle]\nstop_on_terminal = " + map[bool]string{true: "true", false: "false"}[stop] + "\n"}}
	run := p.ended(p.create(req))
	return p.sandbox(run.Sandbox)
}

func (p *plane) sandbox(id berth.SandboxID) berth.Sandbox {
	p.t.Helper()
	sb, err := p.Records.FindSandbox(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return sb
}

// said reads a command's output to its end.
func (p *plane) said(sb berth.Sandbox, id berth.CommandID, limit int) (string, *berth.Exit) {
	p.t.Helper()
	var out bytes.Buffer
	for at := int64(0); ; {
		reply, err := p.CommandOutput(p.t.Context(), sb, id, at, limit, 10*time.Second)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, f := range reply.Frames {
			out.Write(f.Data)
		}
		if reply.EOF {
			return out.String(), reply.Exit
		}
		if reply.NextOffset == at {
			p.t.Fatalf("no output came at %d", at)
		}
		at = reply.NextOffset
	}
}

func TestACommandGetsTheVariablesThatAStageGets(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.secret("TOKEN", "canary-value", berth.SecretToken)
	if _, _, err := p.Records.PutVariable(t.Context(), "REGION", "eu", false); err != nil {
		t.Fatal(err)
	}
	p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ secrets.TOKEN }}", "B": "environment"} })
	sb := p.kept(false, "e", "true")
	cmd, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{
		ID: "look", Command: []string{"env"}, Env: map[string]string{"B": "request", "C": "{{ vars.REGION }}-{{ secrets.TOKEN }}"},
	})
	if err != nil || cmd.Status != berth.CommandRunning || cmd.StartedAt == nil {
		t.Fatalf("StartCommand() = %+v, %v", cmd, err)
	}
	spec, started := p.provider.Started(sb.ID, "look")
	if !started || len(spec.Mask) != 1 || string(spec.Mask[0].Reveal()) != "canary-value" {
		t.Errorf("masked are %d values", len(spec.Mask))
	}
	out, exit := p.said(sb, "look", 1<<20)
	if out != "A=canary-value\nB=request\nC=eu-canary-value\n" || exit == nil || exit.Code != 0 {
		t.Errorf("variables are %q, exit %+v", out, exit)
	}
}

func TestACommandIDStartsOnce(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	req := berth.CommandRequest{ID: "one", Command: []string{"echo", "once"}}
	first, err := p.StartCommand(t.Context(), sb, req)
	if err != nil {
		t.Fatal(err)
	}
	p.said(sb, "one", 1<<20)
	again, err := p.StartCommand(t.Context(), sb, req)
	if err != nil || again.ID != first.ID || again.Status != berth.CommandEnded || again.Exit == nil {
		t.Errorf("StartCommand() again = %+v, %v", again, err)
	}
	if out, _ := p.said(sb, "one", 1<<20); out != "once\n" {
		t.Errorf("it said %q", out)
	}
	req.Command = []string{"echo", "another"}
	_, err = p.StartCommand(t.Context(), sb, req)
	wantCode(t, "StartCommand of another command", err, berth.CodeConflict)
	made, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{Command: []string{"true"}})
	if err != nil || made.ID == "" {
		t.Errorf("StartCommand() without an id = %+v, %v", made, err)
	}
	_, err = p.StartCommand(t.Context(), sb, berth.CommandRequest{ID: "stage-01-command", Command: []string{"true"}})
	wantCode(t, "StartCommand under a stage's id", err, berth.CodeInvalid)
}

func TestARecordedCommandWhoseServerDiedBeforeTheStartIsStarted(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	cmd := berth.Command{ID: "late", Sandbox: sb.ID, Argv: []string{"echo", "x"}, Status: berth.CommandStarting}
	if _, _, err := p.Records.CreateCommand(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
	if got, err := p.DescribeCommand(t.Context(), sb, "late"); err != nil || got.Status != berth.CommandStarting {
		t.Errorf("DescribeCommand() = %+v, %v", got, err)
	}
	if _, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{ID: "late", Command: cmd.Argv}); err != nil {
		t.Fatal(err)
	}
	if out, _ := p.said(sb, "late", 1<<20); out != "x\n" {
		t.Errorf("it said %q", out)
	}
	if got, err := p.DescribeCommand(t.Context(), sb, "late"); err != nil || got.Status != berth.CommandEnded || got.Exit.Code != 0 {
		t.Errorf("DescribeCommand() = %+v, %v", got, err)
	}
}

func TestAReplayNeedsNoneOfWhatTheStartNeeded(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.secret("TOKEN", "canary-value", berth.SecretToken)
	sb := p.kept(false, "local", "true")
	req := berth.CommandRequest{ID: "one", Command: []string{"sleep"}, Env: map[string]string{"A": "{{ secrets.TOKEN }}"}}
	if _, err := p.StartCommand(t.Context(), sb, req); err != nil {
		t.Fatal(err)
	}
	if err := p.Records.DeleteSecret(t.Context(), "TOKEN"); err != nil {
		t.Fatal(err)
	}
	if cmd, err := p.StartCommand(t.Context(), sb, req); err != nil || cmd.Status != berth.CommandRunning {
		t.Errorf("StartCommand() again = %+v, %v", cmd, err)
	}
	if n := p.provider.Calls("StartCommand"); n != 2 { // that of the run is one
		t.Errorf("%d commands were started", n)
	}
}

func TestACommandThatIsRefusedLeavesItsIDFree(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	req := berth.CommandRequest{ID: "one", Command: []string{"true"}, Env: map[string]string{"A": "{{ secrets.ABSENT }}"}}
	_, err := p.StartCommand(t.Context(), sb, req)
	wantCode(t, "StartCommand with a missing secret", err, berth.CodeInvalid)
	p.provider.Fail("StartCommand", berth.Errorf(berth.CodeInvalid, "no such directory"))
	req.Env, req.Dir = nil, "nowhere"
	_, err = p.StartCommand(t.Context(), sb, req)
	wantCode(t, "StartCommand in no directory", err, berth.CodeInvalid)
	req.Dir = ""
	if _, err := p.StartCommand(t.Context(), sb, req); err != nil {
		t.Errorf("StartCommand() = %v", err)
	}
}

func TestASandboxThatIsNotReadyNamesItsStateAndOffersTheStart(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(true, "local", "true")
	_, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{Command: []string{"true"}})
	wantCode(t, "StartCommand in a stopped sandbox", err, berth.CodeConflict)
	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "stopped") || !strings.Contains(e.Remediation, "berth sandbox start") {
		t.Errorf("StartCommand() = %+v", e)
	}
	_, err = p.WriteInput(t.Context(), sb, "x", berth.StdinRequest{})
	wantCode(t, "WriteInput", err, berth.CodeConflict)
	wantCode(t, "SignalCommand", p.SignalCommand(t.Context(), sb, "x", "TERM"), berth.CodeConflict)
}

func TestInputReachesACommandAndSignalsEndIt(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	if _, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{ID: "cat", Command: []string{"cat"}, Stdin: true}); err != nil {
		t.Fatal(err)
	}
	for _, req := range []berth.StdinRequest{{Data: []byte("ab")}, {Data: []byte("ab")}, {Offset: 2, Data: []byte("c"), EOF: true}} {
		if _, err := p.WriteInput(t.Context(), sb, "cat", req); err != nil {
			t.Fatal(err)
		}
	}
	if out, exit := p.said(sb, "cat", 1<<20); out != "abc" || exit.Code != 0 {
		t.Errorf("it said %q and ended with %+v", out, exit)
	}
	for signal, want := range map[string]berth.ExitReason{"sigterm": berth.ExitSignalled, "CANCEL": berth.ExitCancelled} {
		id := berth.CommandID("sleep-" + strings.ToLower(signal))
		if _, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{ID: id, Command: []string{"sleep"}}); err != nil {
			t.Fatal(err)
		}
		if err := p.SignalCommand(t.Context(), sb, id, signal); err != nil {
			t.Fatal(err)
		}
		if _, exit := p.said(sb, id, 1<<20); exit.Reason != want {
			t.Errorf("%s ended it as %s", signal, exit.Reason)
		}
	}
}

func TestAStagesOutputOutlivesItsSandboxAndOtherOutputDoesNot(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	const size = 300 << 10
	sb := p.kept(false, "local", "bytes", "307200")
	if _, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{ID: "other", Command: []string{"echo", "x"}}); err != nil {
		t.Fatal(err)
	}
	p.said(sb, "other", 1<<20)
	if err := p.DestroySandbox(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	sb = p.sandbox(sb.ID)
	for _, limit := range []int{1, 100_000, 1 << 20} { // one frame at least comes
		out, exit := p.said(sb, "stage-01-command", limit)
		if out != string(runnertest.Pattern(size)) || exit == nil || exit.Code != 0 {
			t.Errorf("with limit %d %d bytes came, exit %+v", limit, len(out), exit)
		}
	}
	_, err := p.CommandOutput(t.Context(), sb, "other", 0, 1<<20, 0)
	wantCode(t, "CommandOutput of what is gone", err, berth.CodeConflict)
	if cmd, err := p.DescribeCommand(t.Context(), sb, "other"); err != nil || cmd.Exit == nil || cmd.Exit.Code != 0 {
		t.Errorf("DescribeCommand() = %+v, %v", cmd, err)
	}
	_, err = p.CommandOutput(t.Context(), sb, "nobody", 0, 1<<20, 0)
	wantCode(t, "CommandOutput of an unknown command", err, berth.CodeNotFound)
}
