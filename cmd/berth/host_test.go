package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAddingAHostPrintsTheCommandToRunOnItAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	r := c.ok("host", "add", "eu-1", "--label", "zone=a", "--label", "note=a=b")
	if want := "berth-agent join " + f.URL + " --token bthj_token\n"; r.stdout != want {
		t.Errorf("stdout = %q, want %q", r.stdout, want)
	}
	mustContain(t, "stderr", r.stderr, "host eu-1", "once", "this machine alone") // the fake is on a loopback address
	mustNotContain(t, "stderr", r.stderr, "bthj_token")
	if diff := cmp.Diff(map[string]string{"zone": "a", "note": "a=b"}, f.hosts[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	var token berth.JoinToken
	if err := json.Unmarshal([]byte(c.ok("host", "add", "--json").stdout), &token); err != nil || token.Token != "bthj_token" || token.Host.ID != "host-made" {
		t.Errorf("--json gave %+v, %v", token, err)
	}
	for name, args := range map[string][]string{
		"a bad name": {"EU"}, "two names": {"a", "b"}, "a label without a value": {"a", "--label", "zone"}, "a reserved label": {"a", "--label", "berth.x=y"},
	} {
		before := len(f.requests)
		if r := c.run(append([]string{"host", "add"}, args...)...); r.status != 2 || len(f.requests) != before {
			t.Errorf("%s = %d after %q, want 2 and no request", name, r.status, f.requests[before:])
		}
	}
}

func TestAddingAHostAgainSaysWhichLabelsItKeeps(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	first := c.ok("host", "add", "eu-1", "--label", "zone=a", "--label", "gpu=yes").stderr
	mustNotContain(t, "the first time", first, "keeps")
	again := c.ok("host", "add", "eu-1", "--label", "zone=b").stderr
	mustContain(t, "the second time", again, "keeps the labels gpu=yes;", "berth host rm eu-1")
	mustNotContain(t, "the second time", again, "zone=")
}

func TestALabelOfAHostIsCalledAsEveryOther(t *testing.T) {
	t.Parallel()
	c := newCLI(t, newFake(t).URL)
	mustContain(t, "--label bad", c.run("host", "add", "eu-1", "--label", "bad").stderr, "--label must be NAME=VALUE")
	mustContain(t, "the help", c.ok("host", "add", "--help").stdout, "--label NAME=VALUE")
}

func TestHostsAreListedShownDrainedAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.clock = stoppedClock{now: fakeNow}
	mustContain(t, "without hosts", c.ok("host", "list").stderr, "berth host add")
	f.hosts = []berth.Host{joinedHost("eu-1"), {ID: "eu-2", Status: berth.HostJoining, CreatedAt: fakeNow}}
	f.sandboxes = []berth.Sandbox{
		{ID: "01k5m3v9x2qg00000000000001", Host: "eu-1", Status: berth.SandboxReady},
		{ID: "01k5m3v9x2qg00000000000002", Host: "eu-1", Status: berth.SandboxDestroyed},
		{ID: "01k5m3v9x2qg00000000000003", Host: "eu-2", Status: berth.SandboxReady},
	}
	list := c.ok("host", "list").stdout
	mustContain(t, "the list", list, "HOST", "eu-1", "ready", "20.0s ago", "8", "32000 MB", "https://10.0.0.7:7443", "gpu=yes zone=a", "eu-2", "joining")
	page := c.ok("host", "show", "eu-1").stdout
	mustContain(t, "the page", page, "sha256:ab", "8 arm64", "1.2.3", "01k5m3v9x2qg00000000000001 ready")
	mustNotContain(t, "the page", page, "00000000002", "00000000003")
	var h berth.Host
	if err := json.Unmarshal([]byte(c.ok("host", "show", "eu-1", "--json").stdout), &h); err != nil || h.ID != "eu-1" || h.CPU != 8 {
		t.Errorf("--json gave %+v, %v", h, err)
	}
	mustContain(t, "drain", c.ok("host", "drain", "eu-1").stderr, "takes no new sandbox", "draining")
	mustContain(t, "drain --undo", c.ok("host", "drain", "--undo", "eu-1").stderr, "takes new sandboxes", "ready")
	if r := c.run("host", "rm", "eu-1"); r.status != 5 || len(f.hosts) != 2 {
		t.Errorf("removing a host with sandboxes = %d, want 5", r.status)
	}
	mustContain(t, "a host that is none", c.run("host", "show", "eu-9").stderr, "berth host list")
	c.ok("host", "rm", "eu-2")
	c.ok("host", "rm", "--force", "eu-1")
	if len(f.hosts) > 0 {
		t.Errorf("left %v", f.hosts)
	}
	if r := c.run("host", "show", "eu-1"); r.status != 4 {
		t.Errorf("an unknown host = %d, want 4", r.status)
	}
}

func TestNamesOfHostsAreCompleted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	f.hosts = []berth.Host{joinedHost("eu-1"), joinedHost("us-1")}
	for _, command := range []string{"show", "drain", "rm"} {
		out := c.ok("__complete", "host", command, "").stdout
		if !strings.Contains(out, "eu-1\tready https://10.0.0.7:7443") || !strings.Contains(out, "us-1") {
			t.Errorf("host %s completes with %q", command, out)
		}
	}
}
