package records_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

var capacity = berth.HostCapacity{CPU: 4, MemoryBytes: 8e9, Architecture: "amd64"}

// host is one that has joined.
func (f *fixture) host(id berth.HostID) berth.Host {
	f.t.Helper()
	h := f.added(id, "token-of-"+string(id))
	join, claimed, err := f.ClaimJoin(f.t.Context(), "token-of-"+string(h.ID), f.clock.Now().Add(time.Minute))
	if err != nil {
		f.t.Fatal(err)
	}
	claimed.HostCapacity, claimed.Providers = capacity, []berth.ProviderKind{berth.ProviderDocker}
	done, err := f.CompleteJoin(f.t.Context(), join, claimed, berth.Key{ID: berth.KeyID(f.IDs.NewID()), Name: string(id), Host: id}, "hash-of-"+string(id))
	if err != nil {
		f.t.Fatal(err)
	}
	return done.Host
}

func (f *fixture) added(id berth.HostID, hash string) records.StoredHost {
	f.t.Helper()
	h, err := f.CreateHost(f.t.Context(), records.StoredHost{Host: berth.Host{ID: id}}, hash, f.clock.Now().Add(berth.JoinTokenLife))
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

func (f *fixture) wantCode(what string, err error, code berth.Code, says string) {
	f.t.Helper()
	if berth.CodeOf(err) != code || err != nil && !strings.Contains(err.Error(), says) {
		f.t.Errorf("%s: %v, want %s with %q", what, err, code, says)
	}
}

func (f *fixture) claim(hash string) (records.Join, records.StoredHost, error) {
	return f.ClaimJoin(f.t.Context(), hash, f.clock.Now().Add(time.Minute))
}

func TestAJoinTokenIsGoodOnceAndForTenMinutes(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	f.added("eu-1", "h1")
	f.clock.Advance(berth.JoinTokenLife - 1)
	_, host, err := f.claim("h1")
	if err != nil || host.ID != "eu-1" {
		t.Fatalf("ClaimJoin() in the last moment = %v, %v", host.ID, err)
	}
	_, _, err = f.claim("h1")
	f.wantCode("a second join at once", err, berth.CodeConflict, "at this moment")
	if err := f.ReleaseJoin(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	join, host, err := f.claim("h1")
	if err != nil {
		t.Fatalf("after a join that was refused: %v", err)
	}
	if _, err := f.CompleteJoin(t.Context(), join, host, berth.Key{ID: "k", Host: "eu-1"}, "kh"); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.claim("h1")
	f.wantCode("used twice", err, berth.CodeConflict, "was used")
	_, _, err = f.claim("nobody's")
	f.wantCode("unknown", err, berth.CodeUnauthenticated, "not known")

	f.added("eu-2", "h2")
	f.clock.Advance(berth.JoinTokenLife)
	_, _, err = f.claim("h2")
	f.wantCode("after ten minutes", err, berth.CodeUnauthenticated, "expired")
	f.added("eu-2", "h3")
	_, _, err = f.claim("h2")
	f.wantCode("replaced", err, berth.CodeUnauthenticated, "counts no more")
	if _, _, err = f.claim("h3"); err != nil {
		t.Errorf("the new token: %v", err)
	}
}

func TestOfTwoJoinsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	f.added("eu-1", "h1")
	const racers = 8
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			join, host, err := f.claim("h1")
			if err == nil {
				_, err = f.CompleteJoin(t.Context(), join, host, berth.Key{ID: berth.KeyID(f.IDs.NewID())}, "hash"+string(rune('a'+i)))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if berth.CodeOf(err) != berth.CodeConflict {
			t.Errorf("a loser got %v", err)
		}
	}
	if keys, _, err := f.ListKeys(t.Context(), 10, ""); won != 1 || len(keys) != 1 || err != nil {
		t.Errorf("%d joins won and made %d keys, %v", won, len(keys), err)
	}
}

func TestAHostThatIsAddedAgainKeepsItsLabels(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	add := func(hash string, labels map[string]string) map[string]string {
		h, err := f.CreateHost(t.Context(), records.StoredHost{Host: berth.Host{ID: "eu-1", Labels: labels}}, hash, f.clock.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if stored, err := f.FindHost(t.Context(), "eu-1"); err != nil || !maps.Equal(stored.Labels, h.Labels) {
			t.Errorf("stored %v, %v; returned %v", stored.Labels, err, h.Labels)
		}
		return h.Labels
	}
	add("h1", map[string]string{"zone": "a", "gpu": "yes"})
	if got := add("h2", nil); !maps.Equal(got, map[string]string{"zone": "a", "gpu": "yes"}) {
		t.Errorf("added again without labels it has %v", got)
	}
	if got := add("h3", map[string]string{"zone": "b", "disk": "ssd"}); !maps.Equal(got, map[string]string{"zone": "b", "gpu": "yes", "disk": "ssd"}) {
		t.Errorf("added again with others it has %v", got)
	}
	if err := f.DeleteHost(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	if got := add("h4", map[string]string{"zone": "c"}); !maps.Equal(got, map[string]string{"zone": "c"}) {
		t.Errorf("removed and added it has %v", got)
	}
}

func TestAClaimThatWasLostDoesNotJoin(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	f.added("eu-1", "h1")
	join, host, err := f.claim("h1")
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(2 * time.Minute) // the claim is over
	if _, _, err := f.claim("h1"); err != nil {
		t.Fatal(err)
	}
	_, err = f.CompleteJoin(t.Context(), join, host, berth.Key{ID: "k"}, "kh")
	f.wantCode("the first claim", err, berth.CodeConflict, "in the meantime")
	if keys, _, err := f.ListKeys(t.Context(), 10, ""); len(keys) != 0 || err != nil {
		t.Errorf("it made %v, %v", keys, err)
	}
	_, err = f.CreateHost(t.Context(), records.StoredHost{Host: berth.Host{ID: "eu-1"}}, "h9", f.clock.Now())
	f.wantCode("another token while a join is made", err, berth.CodeConflict, "joining")
}

func TestAHostsStatusFollowsItsHeartbeats(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	if h := f.added("new", "h"); h.Status != berth.HostJoining {
		t.Errorf("added: %s", h.Status)
	}
	f.host("eu-1")
	status := func() berth.HostStatus {
		h, err := f.FindHost(t.Context(), "eu-1")
		if err != nil {
			t.Fatal(err)
		}
		return h.Status
	}
	drain := func(draining bool) {
		if _, err := f.ChangeHost(t.Context(), "eu-1", func(h *records.StoredHost) error { h.Draining = draining; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.Advance(berth.HostGrace)
	if s := status(); s != berth.HostReady {
		t.Errorf("at the end of the grace: %s", s)
	}
	drain(true)
	if s := status(); s != berth.HostDraining {
		t.Errorf("draining: %s", s)
	}
	f.clock.Advance(1)
	if s := status(); s != berth.HostLost {
		t.Errorf("after it: %s", s)
	}
	drain(false)
	if _, err := f.ChangeHost(t.Context(), "eu-1", func(h *records.StoredHost) error { at := f.clock.Now(); h.SeenAt = &at; return nil }); err != nil {
		t.Fatal(err)
	}
	if s := status(); s != berth.HostReady {
		t.Errorf("after a heartbeat: %s", s)
	}
	f.clock.Advance(24 * time.Hour)
	if h, err := f.FindHost(t.Context(), "new"); err != nil || h.Status != berth.HostJoining {
		t.Errorf("one that never joined: %s, %v", h.Status, err)
	}
}

// sandboxOn records a sandbox on a host.
func (f *fixture) sandboxOn(host berth.HostID, status berth.SandboxStatus) berth.SandboxID {
	f.t.Helper()
	sb, err := f.CreateSandbox(f.t.Context(), berth.Sandbox{ID: berth.SandboxID(f.IDs.NewID()), Host: host, Status: status, Provider: berth.ProviderDocker})
	if err != nil {
		f.t.Fatal(err)
	}
	return sb.ID
}

func (f *fixture) take(h berth.Host, id berth.SandboxID, cores int, memory int64) bool {
	f.t.Helper()
	taken, err := f.TakePlace(f.t.Context(), h, id, berth.Demand{CPU: cores, MemoryBytes: memory})
	if err != nil {
		f.t.Fatal(err)
	}
	return taken
}

func TestAHostIsNotGivenMoreThanItHas(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	h := f.host("eu-1")
	one, two, three := f.sandboxOn("eu-1", berth.SandboxReady), f.sandboxOn("eu-1", berth.SandboxReady), f.sandboxOn("eu-1", berth.SandboxReady)
	for range 2 {
		if !f.take(h, one, 3, 4e9) {
			t.Error("the first one got no place, or lost it")
		}
	}
	if f.take(h, two, 2, 1e9) || f.take(h, two, 1, 5e9) {
		t.Error("cores or memory were given twice")
	}
	if !f.take(h, two, 1, 4e9) {
		t.Error("what is left was not given")
	}
	usage, err := f.ListUsage(t.Context())
	want := map[berth.HostID]records.Usage{"eu-1": {Demand: berth.Demand{CPU: 4, MemoryBytes: 8e9}, Sandboxes: 2}}
	if diff := cmp.Diff(want, usage); diff != "" || err != nil {
		t.Errorf("usage (-want +got):\n%s%v", diff, err)
	}
	// A stopped sandbox takes nothing, and takes it again only if it is there.
	if err := f.RestPlace(t.Context(), "eu-1", one); err != nil {
		t.Fatal(err)
	}
	if !f.take(h, three, 2, 1e9) {
		t.Error("a stopped sandbox holds its cores")
	}
	if awake, err := f.WakePlace(t.Context(), h, one); err != nil || awake {
		t.Errorf("WakePlace() without room = %v, %v", awake, err)
	}
	if err := f.LeavePlace(t.Context(), "eu-1", three); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if awake, err := f.WakePlace(t.Context(), h, one); err != nil || !awake {
			t.Errorf("WakePlace() = %v, %v", awake, err)
		}
		if err := f.LeavePlace(t.Context(), "eu-1", three); err != nil {
			t.Errorf("leaving twice: %v", err)
		}
	}
	if f.take(h, three, 1, 1) {
		t.Error("the place of the one that woke was given away")
	}
	if taken, err := f.TakePlace(t.Context(), berth.Host{ID: "gone", HostCapacity: capacity}, three, berth.Demand{CPU: 1}); err != nil || taken {
		t.Errorf("a place on a host that is not there: %v, %v", taken, err)
	}
}

func TestOfManyRunsThatWantOnePlaceOneGetsIt(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	h := f.host("eu-1")
	const racers = 12
	taken := make([]bool, racers)
	var wg sync.WaitGroup
	for i := range racers {
		id := f.sandboxOn("", berth.SandboxCreating)
		wg.Go(func() {
			var err error
			if taken[i], err = f.TakePlace(t.Context(), h, id, berth.Demand{CPU: 3, MemoryBytes: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(taken, func(ok bool) bool { return !ok })); n != 1 {
		t.Errorf("%d of %d got the place", n, racers)
	}
}

func TestAPlaceCannotLeak(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	h := f.host("eu-1")
	// Of a sandbox that was destroyed, at once.
	dead := f.sandboxOn("eu-1", berth.SandboxReady)
	f.take(h, dead, 4, 1)
	if _, err := f.ChangeSandbox(t.Context(), dead, func(sb *berth.Sandbox) error { sb.Status = berth.SandboxDestroyed; return nil }); err != nil {
		t.Fatal(err)
	}
	// Of an admission that died before it recorded the host, after a while.
	unplaced := f.sandboxOn("", berth.SandboxCreating)
	if !f.take(h, unplaced, 4, 1) {
		t.Fatal("a destroyed sandbox holds its place")
	}
	next := f.sandboxOn("", berth.SandboxCreating)
	f.clock.Advance(9 * time.Minute)
	if f.take(h, next, 4, 1) {
		t.Error("a place was taken away from an admission that goes on")
	}
	f.clock.Advance(2 * time.Minute)
	if err := f.HealPlaces(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	if usage, err := f.ListUsage(t.Context()); err != nil || usage["eu-1"].Sandboxes != 0 {
		t.Errorf("after healing %+v, %v", usage, err)
	}
	if !f.take(h, next, 4, 1) {
		t.Error("the place is still held")
	}
	// One that is recorded as being there keeps its place for ever.
	there := f.sandboxOn("eu-1", berth.SandboxReady)
	if err := f.LeavePlace(t.Context(), "eu-1", next); err != nil {
		t.Fatal(err)
	}
	f.take(h, there, 4, 1)
	f.clock.Advance(1000 * time.Hour)
	if f.take(h, next, 1, 1) {
		t.Error("a long run lost its place")
	}
}

func TestAHostWithSandboxesIsClosedByForceAlone(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	h := f.host("eu-1")
	id := f.sandboxOn("eu-1", berth.SandboxReady)
	f.take(h, id, 1, 1)
	_, err := f.ClosePlaces(t.Context(), "eu-1", false)
	f.wantCode("closing with a sandbox there", err, berth.CodeConflict, string(id))
	if !f.take(h, f.sandboxOn("eu-1", berth.SandboxReady), 1, 1) {
		t.Error("a refusal closed it")
	}
	there, err := f.ClosePlaces(t.Context(), "eu-1", true)
	if err != nil || len(there) != 2 {
		t.Errorf("closed by force with %v, %v", there, err)
	}
	if f.take(h, f.sandboxOn("", berth.SandboxCreating), 1, 1) {
		t.Error("a closed host took a sandbox")
	}
	for range 2 {
		if err := f.DeleteHost(t.Context(), "eu-1"); err != nil {
			t.Fatal(err)
		}
	}
	if f.take(h, f.sandboxOn("", berth.SandboxCreating), 1, 1) {
		t.Error("a deleted host took a sandbox")
	}
	if usage, err := f.ListUsage(t.Context()); err != nil || len(usage) != 0 {
		t.Errorf("left %v, %v", usage, err)
	}
}

func TestTheSandboxesOfAHostAreListedByTheirHost(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	one, two := f.sandboxOn("eu-1", berth.SandboxReady), f.sandboxOn("eu-1", berth.SandboxStopped)
	f.sandboxOn("eu-2", berth.SandboxReady)
	f.sandboxOn("", berth.SandboxReady)
	var got []records.HostSandbox
	for cursor := ""; ; {
		page, next, err := f.ListHostSandboxes(t.Context(), "eu-1", 1, cursor)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if cursor = next; cursor == "" {
			break
		}
	}
	want := []records.HostSandbox{{ID: one, Status: berth.SandboxReady}, {ID: two, Status: berth.SandboxStopped}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
