package main

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestASandboxWhoseProviderIsGoneIsRemovedByForceAlone(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.sandboxes[0].Ref = "gone"
	r := c.run("sandbox", "rm", string(fakeSandbox))
	if r.status == 0 || f.sandboxes[0].Status == berth.SandboxDestroyed {
		t.Errorf("berth sandbox rm = %d, the sandbox is %s", r.status, f.sandboxes[0].Status)
	}
	mustContain(t, "stderr", r.stderr, "does not answer", "berth sandbox rm --force "+string(fakeSandbox))
	r = c.ok("sandbox", "rm", "--force", "--quiet", string(fakeSandbox))
	mustContain(t, "stderr of --force", r.stderr, "it may be left as gone")
}

func TestForceSaysNothingOfWhatWasDestroyed(t *testing.T) {
	t.Parallel()
	_, c := withSandbox(t)
	r := c.ok("sandbox", "rm", "--force", string(fakeSandbox))
	mustContain(t, "stderr", r.stderr, "destroyed sandbox "+string(fakeSandbox))
	mustNotContain(t, "stderr", r.stderr, "left")
}
