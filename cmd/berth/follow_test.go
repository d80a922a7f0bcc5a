package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAProviderThatIsAwayIsToldInPlainOutputAndOtherProgressIsNot(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	const away = "trying again: connection refused"
	f.plan.events = slices.Insert(f.plan.events, 1,
		berth.Event{Kind: berth.EventSandboxProgress, Message: "pulling 40%"},
		berth.Event{Kind: berth.EventSandboxProgress, Message: away, Reason: &berth.Reason{Code: berth.ReasonUnreachable, Message: away}})
	r := c.ok("run", "--environment", "local", "--", "true")
	if n := strings.Count(r.stderr, "berth: sandbox: "+away+"\n"); n != 1 {
		t.Errorf("the cause is told %d times:\n%s", n, r.stderr)
	}
	mustNotContain(t, "stderr", r.stderr, "pulling")
}
