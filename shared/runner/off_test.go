package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// reopen ends the server and starts the next one, with the bench's provider or
// without any.
func (b *bench) reopen(provided bool) {
	b.t.Helper()
	b.close(b.t)
	b.process = b.open(b.table, func(r *runner.Runner, _ map[string]asl.Task) {
		if !provided {
			r.Providers = providers{}
		}
	})
	if err := b.machine.Resume(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// notices are the notices of a run.
func (b *bench) notices(id berth.RunID) (messages []string) {
	for _, e := range b.events(id) {
		if e.Kind == berth.EventNotice {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func waitsForItsProvider(h records.Head) bool {
	return h.Reason != nil && h.Reason.Code == berth.ReasonProviderDisabled
}

// gated is a bench with the program `gated`, which ends well once gate is closed.
func gated(t *testing.T, options ...option) (b *bench, gate chan struct{}) {
	t.Helper()
	b, gate = newBench(t, runnertest.NewHurriedClock(200), options...), make(chan struct{})
	b.provider.Programs["gated"] = func(p *runnertest.Process) int {
		select {
		case <-gate:
			p.Write(berth.Stdout, []byte("through\n"))
			return 0
		case <-p.Ended:
			return 1
		}
	}
	return b, gate
}

func TestARunWaitsForAServerThatHasItsProvider(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]option{
		"followed":                func(*runner.Runner, map[string]asl.Task) {},
		"where output is awaited": attached(5 * time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, gate := gated(t, set)
			id := b.create(definition("gated"))
			b.until(id, "going on", func(h records.Head) bool { return h.Stage != "" })
			b.reopen(false)
			head := b.until(id, "waiting", waitsForItsProvider)
			close(gate) // the command ends while no server can ask for it
			time.Sleep(100 * time.Millisecond)
			if _, err := b.runner.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if live, err := b.records.FindHead(t.Context(), id); err != nil || live.Status != berth.RunRunning || !strings.Contains(head.Reason.Message, "is disabled") {
				t.Fatalf("the run is %s with %+v, %v", live.Status, live.Reason, err)
			}
			if got := b.notices(id); len(got) != 1 || !strings.Contains(got[0], "is disabled; the run waits") {
				t.Errorf("the notices are %q, want the cause, once", got)
			}
			if b.provider.Calls("Destroy") != 0 {
				t.Error("the sandbox was destroyed")
			}
			b.reopen(true)
			if _, err := b.runner.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			run := b.ended(id)
			if out, _, _ := b.output(id, commandStage); run.Status != berth.RunSucceeded || run.Reason != nil || out != "through\n" {
				t.Errorf("the run ended %s because of %+v with %q", run.Status, run.Reason, out)
			}
			if got := b.notices(id); len(got) != 2 || got[1] != "the provider is on again: the run goes on" {
				t.Errorf("the notices are %q", got)
			}
		})
	}
}

func TestAStageIsStartedOnceItsProviderIsOnAgain(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"that was not begun": false, "that was recorded as running": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{})
			on := b.runner.Providers
			id := b.record(definition("echo", "started"))
			step := func(what string, task func() (runner.State, error), want runner.Next) runner.State {
				t.Helper()
				s, err := task()
				if err != nil || s.Next != want {
					t.Fatalf("%s = %+v, %v, want %s", what, s, err, want)
				}
				return s
			}
			s := step("Admit", func() (runner.State, error) { return b.runner.Admit(t.Context(), runner.State{Run: id}) }, runner.NextProvision)
			s = step("Provision", func() (runner.State, error) { return b.runner.Provision(t.Context(), s) }, runner.NextAdvance)
			s = step("Advance", func() (runner.State, error) { return b.runner.Advance(t.Context(), s) }, runner.NextStart)
			if begun {
				b.provider.Fail("StartCommand", berth.Errorf(berth.CodeUnavailable, "the server died here"))
				if _, err := b.runner.Start(t.Context(), s); berth.CodeOf(err) != berth.CodeUnavailable {
					t.Fatalf("Start() = %v", err)
				}
			}
			b.runner.Providers = providers{}
			for range 2 { // each time round is a pause, and none is an end
				s = step("Start", func() (runner.State, error) { return b.runner.Start(t.Context(), s) }, runner.NextFollow)
				s = step("Follow", func() (runner.State, error) { return b.runner.Follow(t.Context(), s) }, runner.NextPause)
				s = step("Follow", func() (runner.State, error) { return b.runner.Follow(t.Context(), s) }, runner.NextAdvance)
				s = step("Advance", func() (runner.State, error) { return b.runner.Advance(t.Context(), s) }, runner.NextStart)
			}
			b.runner.Providers = on
			if head := b.until(id, "waiting", waitsForItsProvider); head.Outcome != nil {
				t.Fatalf("the run is to end: %+v", head.Outcome)
			}
			s = step("Start", func() (runner.State, error) { return b.runner.Start(t.Context(), s) }, runner.NextFollow)
			s = step("Follow", func() (runner.State, error) { return b.runner.Follow(t.Context(), s) }, runner.NextAdvance)
			step("Advance", func() (runner.State, error) { return b.runner.Advance(t.Context(), s) }, runner.NextTeardown)
			if out, _, _ := b.output(id, commandStage); out != "started\n" || len(b.notices(id)) != 2 {
				t.Errorf("it printed %q, with the notices %q", out, b.notices(id))
			}
		})
	}
}

func TestARunThatWaitsForItsProviderCanBeCancelled(t *testing.T) {
	t.Parallel()
	b, _ := gated(t)
	id := b.create(definition("gated"))
	b.until(id, "going on", func(h records.Head) bool { return h.Stage != "" })
	b.reopen(false)
	b.until(id, "waiting", waitsForItsProvider)
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	run := b.ended(id)
	if run.Status != berth.RunCancelled || run.Reason == nil || run.Reason.Code != berth.ReasonCancelled || run.Stages[0].Status != berth.StageCancelled {
		t.Errorf("the run ended %s because of %+v, its stage %s", run.Status, run.Reason, run.Stages[0].Status)
	}
	if b.provider.Status(run.Sandbox) == berth.SandboxGone {
		t.Fatal("the sandbox is gone without a server that could destroy it")
	}
	b.reopen(true)
	if _, err := b.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.gone(run)
}

// asked is a run whose provider was asked for its sandbox, did not answer, and is off
// since then.
func asked(t *testing.T) (b *bench, on runner.Providers, id berth.RunID, s runner.State) {
	t.Helper()
	b, p := withReach(t, runnertest.NewManualClock(), 0)
	on = b.runner.Providers
	p.Fail("Provision", berth.Errorf(berth.CodeUnavailable, "the answer was lost"))
	id, s = b.tried()
	if s = b.again(s); s.Next != runner.NextWait {
		t.Fatalf("Provision() = %+v, want to wait", s)
	}
	b.runner.Providers = providers{}
	for range 3 {
		if s = b.again(s); s.Next != runner.NextWait || s.WaitSeconds < 1 {
			t.Fatalf("Provision() = %+v, want to wait", s)
		}
	}
	if got := b.notices(id); len(got) != 1 || !strings.Contains(got[0], "is disabled; the run waits") {
		t.Fatalf("the notices are %q, want the cause, once", got)
	}
	return b, on, id, s
}

func TestASandboxThatIsBeingMadeIsWaitedForUntilItsProviderIsOnAgain(t *testing.T) {
	t.Parallel()
	b, on, id, s := asked(t)
	b.runner.Providers = on
	if s = b.again(s); s.Next != runner.NextAdvance {
		t.Fatalf("Provision() = %+v, want the sandbox to be ready", s)
	}
	head, err := b.records.FindHead(t.Context(), id)
	if err != nil || head.Status != berth.RunRunning || head.Reason != nil {
		t.Errorf("the run is %s with %+v, %v", head.Status, head.Reason, err)
	}
	if got := b.notices(id); len(got) != 2 || got[1] != "the provider is on again: the run goes on" {
		t.Errorf("the notices are %q", got)
	}
}

func TestASandboxWhoseProviderIsOffIsSweptOnceItIsOnAgain(t *testing.T) {
	t.Parallel()
	b, on, id, s := asked(t)
	head, err := b.records.FindHead(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	b.provider.Appear(head.Sandbox, id) // what was asked for came into being
	if err := b.runner.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s = b.again(s); s.Next != runner.NextTeardown {
		t.Fatalf("Provision() = %+v, want the run to end", s)
	}
	if s, err = b.runner.Teardown(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := b.runner.Finish(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.runner.Providers = on
	if _, err := b.runner.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status := b.provider.Status(head.Sandbox); status != berth.SandboxGone {
		t.Errorf("the sandbox is %s after a sweep", status)
	}
}
