package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// cloner runs a program of the fake provider in the place of git.
type cloner struct {
	spec berth.CommandSpec
	err  error
}

func (c cloner) CloneCommand(context.Context, berth.Definition) (berth.CommandSpec, error) {
	return c.spec, c.err
}

func (c cloner) ExplainClone(def berth.Definition, exit berth.Exit) (berth.Reason, bool) {
	return berth.Reason{Code: berth.ReasonCloneFailed, Message: "tag " + def.Target.Tag + " is not there"}, exit.Code == 12
}

func withCloner(c runner.Cloner) option {
	return func(r *runner.Runner, _ map[string]asl.Task) { r.Cloner = c }
}

// cloned is a definition with a git target.
func cloned() berth.Definition {
	def := definition("look")
	def.Target = berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/r", Tag: "v9"}
	def.Clone = berth.Clone{Enabled: true, Depth: berth.DefaultCloneDepth}
	return def
}

func TestAFailedCloneSaysWhyAndStartsNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cloner runner.Cloner
		says   string
	}{
		"a status that it explains": {cloner{spec: berth.CommandSpec{Argv: []string{"exit", "12"}}}, "tag v9 is not there"},
		"another status":            {cloner{spec: berth.CommandSpec{Argv: []string{"exit", "3"}}}, "stage 01-clone ended with status 3"},
		"no command":                {cloner{err: berth.Errorf(berth.CodeInvalid, "no such credential")}, "no such credential"},
		"no cloner":                 {nil, "this server cannot fetch code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{}, withCloner(c.cloner))
			run := b.ended(b.create(cloned()))
			if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonCloneFailed || !strings.Contains(run.Reason.Message, c.says) {
				t.Errorf("run ended %s because of %+v, want %q", run.Status, run.Reason, c.says)
			}
			if _, ok := b.provider.Started(run.Sandbox, "stage-02-command"); ok {
				t.Error("the command was started")
			}
		})
	}
}

func TestACloneHasItsCredentialAndFiveMinutesAndLeavesThemToNoOtherStage(t *testing.T) {
	t.Parallel()
	spec := berth.CommandSpec{
		Argv: []string{"look"}, Env: map[string]string{"PASSWORD": "canary-value"},
		Mask: []berth.SecretValue{berth.NewSecretValue([]byte("canary-value"))},
	}
	b := newBench(t, berth.SystemClock{}, withCloner(cloner{spec: spec}))
	started := make(chan berth.CommandSpec, 2)
	b.provider.Programs["look"] = func(p *runnertest.Process) int { started <- p.Spec; return 0 }
	def := cloned()
	def.Environment.Env = map[string]string{"MODE": "test", "PASSWORD": "of the environment"}
	if run := b.ended(b.create(def)); run.Status != berth.RunSucceeded {
		t.Fatalf("run ended %s because of %+v", run.Status, run.Reason)
	}
	clone, command := <-started, <-started
	if clone.Env["PASSWORD"] != "canary-value" || clone.Env["MODE"] != "test" || len(clone.Mask) != 1 || clone.Timeout != 5*time.Minute {
		t.Errorf("the clone was started with %v, %d masks, %s", clone.Env, len(clone.Mask), clone.Timeout)
	}
	if command.Env["PASSWORD"] != "of the environment" || len(command.Mask) != 0 {
		t.Errorf("the command was started with %v, %d masks", command.Env, len(command.Mask))
	}
}
