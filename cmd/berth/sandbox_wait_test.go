package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// steps is a clock that does not sleep, and does something each time that it would.
type steps struct {
	hurriedClock
	step func()
}

func (s steps) Sleep(ctx context.Context, d time.Duration) error {
	s.step()
	return s.hurriedClock.Sleep(ctx, d)
}

// making is a server whose sandbox is being made, and becomes what change says when
// somebody waits for the third time.
func making(t *testing.T, change func(*berth.Sandbox)) (*fake, *cli) {
	t.Helper()
	f, c := withSandbox(t)
	f.sandboxes[0].Status = berth.SandboxCreating
	looks := 0
	c.clock = steps{newHurriedClock(), func() {
		if looks++; looks == 3 {
			f.mu.Lock()
			defer f.mu.Unlock()
			change(&f.sandboxes[0])
		}
	}}
	return f, c
}

func becomesReady(s *berth.Sandbox) { s.Status = berth.SandboxReady }

func TestASandboxThatIsBeingMadeIsWaitedForByWhoWantsIntoIt(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"exec":    {"exec", string(fakeSandbox), "-n", "-c", "seven"},
		"cp":      {"cp", string(fakeSandbox) + ":result.txt", "-"},
		"preview": {"sandbox", "preview", string(fakeSandbox), "3000"},
		"ssh":     {"sandbox", "ssh", "--json", string(fakeSandbox)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, c := making(t, becomesReady)
			f.previewURL, f.sshLine = "https://3000-box.example/", "ssh box"
			f.files["result.txt"] = fakeFile{data: []byte("done"), mode: 0o644}
			want := 0
			if name == "exec" {
				want = 7
			}
			r := c.run(args...)
			if r.status != want || r.stdout == "" {
				t.Errorf("berth %q = %d with %q, want %d; stderr:\n%s", args, r.status, r.stdout, want, r.stderr)
			}
			mustContain(t, "stderr", r.stderr, "waiting for sandbox "+string(fakeSandbox))
		})
	}
}

func TestWhoWaitsForASandboxGetsTheOneOfThePoolThatItsRunTakesInstead(t *testing.T) {
	t.Parallel()
	const pooled = berth.SandboxID("01k5m3v9x2qp00000000000000")
	var f *fake
	f, c := making(t, func(s *berth.Sandbox) { // as a claim does: the planned one leaves no record
		s.ID, s.Status = pooled, berth.SandboxReady
		f.runs[0].run.Sandbox = pooled
	})
	run := f.sandboxes[0].Run
	f.runs = append(f.runs, &fakeRun{run: berth.Run{ID: run, Status: berth.RunRunning, Sandbox: fakeSandbox}})
	if r := c.run("exec", string(run), "-n", "-c", "seven"); r.status != 7 || r.stdout == "" {
		t.Errorf("berth exec = %d with %q, want 7; stderr:\n%s", r.status, r.stdout, r.stderr)
	}
}

func TestASandboxThatVanishesWhileItIsWaitedForIsNotFound(t *testing.T) {
	t.Parallel()
	var f *fake
	f, c := making(t, func(*berth.Sandbox) { f.sandboxes = nil })
	run := f.sandboxes[0].Run
	f.runs = append(f.runs, &fakeRun{run: berth.Run{ID: run, Status: berth.RunRunning, Sandbox: fakeSandbox}})
	r := c.run("cp", string(run)+":result.txt", "-")
	if r.status == 0 {
		t.Error("berth cp = 0")
	}
	mustContain(t, "stderr", r.stderr, "not_found: sandbox "+string(fakeSandbox)+" does not exist")
}

func TestWaitingForASandboxSaysThatItsProviderIsAwayAndWhyItWasNotMade(t *testing.T) {
	t.Parallel()
	f, c := making(t, func(s *berth.Sandbox) {
		s.Status, s.Reason = berth.SandboxFailed, &berth.Reason{Code: berth.ReasonUnreachable, Message: "connection refused", Remediation: "look at the host"}
	})
	f.sandboxes[0].Reason = &berth.Reason{Code: berth.ReasonUnreachable, Message: "trying again: connection refused"}
	r := c.run("exec", string(fakeSandbox), "-n", "-c", "seven")
	if r.status != 125 || r.stdout != "" {
		t.Errorf("berth exec = %d with %q, want 125", r.status, r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "sandbox: trying again: connection refused", "could not be made: connection refused", "look at the host")
}

func TestCtrlCEndsTheWaitForASandbox(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.sandboxes[0].Status = berth.SandboxCreating
	c.signals <- os.Interrupt
	if r := c.run("exec", string(fakeSandbox), "-n", "-c", "seven"); r.status != statusCancelled || len(f.commands) != 0 {
		t.Errorf("berth exec = %d after %d commands, want %d: %s", r.status, len(f.commands), statusCancelled, r.stderr)
	}
}

func TestASandboxThatIsNeverMadeIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.sandboxes[0].Status = berth.SandboxCreating
	c.clock = newHurriedClock()
	r := c.run("cp", string(fakeSandbox)+":result.txt", "-")
	if r.status == 0 || r.status == 130 {
		t.Errorf("berth cp = %d", r.status)
	}
	mustContain(t, "stderr", r.stderr, "is still being made")
}
