package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// stoppedClock stands at a time.
type stoppedClock struct {
	berth.SystemClock
	now time.Time
}

func (c stoppedClock) Now() time.Time                             { return c.now }
func (c stoppedClock) Sleep(context.Context, time.Duration) error { return nil }

func TestAKeyIsPrintedAloneAndListedWithoutItsValue(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.clock = stoppedClock{now: fakeNow}
	r := c.ok("key", "create", "ci", "--scope", "read,run", "--expires", "30d")
	if r.stdout != fakeKey("k")+"\n" {
		t.Errorf("stdout = %q, want the key alone", r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "made key ci", "read run", "expires in 30d", "only time")
	mustNotContain(t, "stderr", r.stderr, fakeKey("k"))
	c.ok("key", "create", "ops")
	want := [][]berth.Scope{{berth.ScopeRead, berth.ScopeRun}, {berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}}
	if diff := cmp.Diff(want, [][]berth.Scope{f.keys[0].Scopes, f.keys[1].Scopes}); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	var key berth.IssuedKey
	if err := json.Unmarshal([]byte(c.ok("key", "create", "j", "--scope", "read", "--json").stdout), &key); err != nil || key.Value != fakeKey("k") || key.Name != "j" {
		t.Errorf("--json gave %+v, %v", key, err)
	}
	list := c.ok("key", "list")
	mustContain(t, "list", list.stdout, "KEY", "ci", "bth_kkkkkkkk…", "read run", "expires in 30d", "never expires", "never")
	mustNotContain(t, "list", list.stdout+c.ok("key", "list", "--json").stdout, fakeKey("k"))
}

func TestAKeyThatCouldNotBeShownIsNamedWithTheWayToRemoveIt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"key", "create", "ci"}, {"key", "create", "ci", "--json"}} {
		var stderr strings.Builder
		if status := c.app(fullDisk{}, &stderr).execute(t.Context(), args); status != 6 {
			t.Errorf("berth %q = %d, want 6", args, status)
		}
		mustContain(t, "stderr", stderr.String(), "no space left", "to do: remove it with `berth key rm "+string(f.keys[len(f.keys)-1].ID)+"`")
	}
}

func TestKeysAreRemovedByNameAndByIDAndNeverByGuess(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for _, name := range []string{"ci", "twin", "twin", "ops"} {
		c.ok("key", "create", name, "--scope", "read")
	}
	id := string(f.keys[3].ID)
	if r := c.run("key", "rm", "twin"); r.status != 5 || len(f.keys) != 4 {
		t.Errorf("an ambiguous name = %d, want 5", r.status)
	}
	if r := c.run("key", "rm", "nobody"); r.status != 4 {
		t.Errorf("an unknown name = %d, want 4", r.status)
	}
	if r := c.run("key", "rm", id[:12]); r.status != 5 || len(f.keys) != 4 {
		t.Errorf("an ambiguous id = %d, want 5", r.status)
	}
	if r := c.run("key", "rm", "c"); r.status != 4 || len(f.keys) != 4 {
		t.Errorf("the beginning of a name = %d, want 4", r.status)
	}
	c.ok("key", "rm", "ci", id)
	if len(f.keys) != 2 || f.keys[0].Name != "twin" || f.keys[1].Name != "twin" {
		t.Errorf("left %+v", f.keys)
	}
	c.ok("key", "rm", string(f.keys[0].ID))
	if len(f.keys) != 1 {
		t.Errorf("left %+v", f.keys)
	}
}

func TestFaultsOfAKeyAreToldBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for name, args := range map[string][]string{
		"a bad name":         {"CI!"},
		"a reserved name":    {"local"},
		"an unknown scope":   {"ci", "--scope", "root"},
		"the scope of hosts": {"ci", "--scope", "host"},
		"a bad span":         {"ci", "--expires", "1h30m"},
		"no name":            {},
		"two names":          {"a", "b"},
	} {
		if r := c.run(append([]string{"key", "create"}, args...)...); r.status != 2 || len(f.requests) > 0 {
			t.Errorf("%s = %d with requests %q, want 2 with none", name, r.status, f.requests)
		}
	}
	f.key = fakeKey("a")
	if r := c.run("key", "create", "ci"); r.status != 3 {
		t.Errorf("a scope that the key lacks = %d, want 3", r.status)
	}
}
