package fleet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func wantCode(t *testing.T, what string, err error, code berth.Code, says ...string) {
	t.Helper()
	if berth.CodeOf(err) != code {
		t.Fatalf("%s: %v, want %q", what, err, code)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v does not say %q", what, err, s)
		}
	}
}

func TestACallGoesWhereTheSandboxIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := f.host("eu-1", 4, 8e9), f.host("eu-2", 4, 8e9)
	own := runnertest.NewProvider()
	f.engine = own
	a, b, c := f.made("eu-1"), f.made("eu-2"), f.made("")
	for name, test := range map[string]struct {
		provider *runnertest.Provider
		ref      berth.SandboxRef
	}{"eu-1": {one.Provider, a}, "eu-2": {two.Provider, b}, "the server's own": {own, c}} {
		if specs := test.provider.Specs(); len(specs) != 1 || specs[0].ID != test.ref.ID {
			t.Errorf("%s made %v", name, specs)
		}
		if state, err := f.Describe(t.Context(), test.ref); err != nil || state.Status != berth.SandboxReady || state.Host != test.ref.Host {
			t.Errorf("Describe() on %s = %+v, %v", name, state, err)
		}
		if err := f.StartCommand(t.Context(), test.ref, berth.CommandSpec{ID: "c", Argv: []string{"echo", name}}); err != nil {
			t.Error(err)
		}
		if _, started := test.provider.Started(test.ref.ID, "c"); !started {
			t.Errorf("the command did not start on %s", name)
		}
	}
	states, err := f.List(t.Context())
	if err != nil || len(states) != 3 {
		t.Fatalf("List() = %v, %v", states, err)
	}
	for _, s := range states {
		want := map[berth.SandboxID]berth.HostID{a.ID: "eu-1", b.ID: "eu-2", c.ID: ""}[s.ID]
		if s.Host != want {
			t.Errorf("%s is listed on %q, want %q", s.ID, s.Host, want)
		}
	}
	if err := f.Arm(t.Context(), a, "c", 7); err != nil {
		t.Error(err)
	}
	if armed := one.Armings(); len(armed) != 1 || armed[0].Offset != 7 || len(two.Armings()) > 0 {
		t.Errorf("armed %v", armed)
	}
}

func TestAHostThatDoesNotAnswerHidesNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := f.host("eu-1", 4, 8e9)
	f.host("eu-2", 4, 8e9)
	silent, there := f.made("eu-1"), f.made("eu-2")
	one.set(func(a *agent) { a.down = errDown })
	states, err := f.List(t.Context())
	if err != nil || len(states) != 1 || states[0].ID != there.ID {
		t.Errorf("List() = %v, %v", states, err)
	}
	_, err = f.Describe(t.Context(), silent)
	wantCode(t, "Describe on a silent host", err, berth.CodeUnavailable, "host eu-1", "cannot be reached")
	_, err = f.ReadOutput(t.Context(), silent, "c", 0, 100, 0)
	wantCode(t, "ReadOutput on a silent host", err, berth.CodeUnavailable)
}

func TestOfARemovedHostEverySandboxIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host("eu-1", 4, 8e9)
	ref := f.made("eu-1")
	if err := f.records.DeleteHost(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	if state, err := f.Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe() = %+v, %v", state, err)
	}
	if out, err := f.ReadOutput(t.Context(), ref, "c", 5, 100, 0); err != nil || !out.Ended || out.Exit.Reason != berth.ExitLost || out.Next != 5 {
		t.Errorf("ReadOutput() = %+v, %v", out, err)
	}
	wantCode(t, "StartCommand", f.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c"}), berth.CodeNotFound, "eu-1 was removed")
	if err := f.Destroy(t.Context(), ref); err != nil {
		t.Errorf("Destroy() = %v", err)
	}
	if why, err := f.HostLost(t.Context(), "eu-1"); err != nil || !strings.Contains(why, "removed") {
		t.Errorf("HostLost() = %q, %v", why, err)
	}
}

func TestAHostIsLookedUpAnewWhenItRefusesItsBearer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.host("eu-1", 4, 8e9)
	ref := f.made("eu-1")
	for range 5 {
		if _, err := f.Describe(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	if a.dials != 1 {
		t.Errorf("%d connections for 6 calls", a.dials)
	}
	// It joins anew, with another bearer; the old one is refused.
	if err := f.records.DeleteHost(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	f.host("eu-1", 4, 8e9)
	f.clock.Advance(3 * time.Second) // less than an address is remembered for
	if _, err := f.Describe(t.Context(), ref); err != nil {
		t.Errorf("after it joined anew: %v", err)
	}
	if a.dials != 2 {
		t.Errorf("%d connections, want 2", a.dials)
	}
	// A bearer that is refused for good is the server's trouble, not the caller's.
	a.set(func(a *agent) { a.bearer = "another" })
	f.clock.Advance(3 * time.Second)
	_, err := f.Describe(t.Context(), ref)
	wantCode(t, "a bearer that is refused", err, berth.CodeUnavailable, "eu-1", "bearer")
	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Remediation, "berth host add eu-1") {
		t.Errorf("it does not say what to do: %v", err)
	}
}

func TestABearerThatIsNotInTheStoreIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host("eu-1", 4, 8e9)
	if err := f.secrets.Delete(t.Context(), "provider/host/eu-1"); err != nil {
		t.Fatal(err)
	}
	_, err := f.Describe(t.Context(), berth.SandboxRef{ID: f.sandbox(), Host: "eu-1"})
	wantCode(t, "without a bearer", err, berth.CodeUnavailable, "the bearer of host eu-1")
}

func TestDockerIsOnWhileThereIsAnEngineOrAHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if why := f.Off(); why != "no engine answers" {
		t.Errorf("without anything it is off: %q", why)
	}
	f.engine = runnertest.NewProvider()
	if why := f.Off(); why != "" {
		t.Errorf("with an engine it is off: %q", why)
	}
	f.engine = nil
	if _, err := f.records.CreateHost(t.Context(), records.StoredHost{Host: berth.Host{ID: "eu-0"}}, "h", f.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if why := f.Off(); why == "" {
		t.Error("a host that has not joined turns it on")
	}
	f.host("eu-1", 1, 1e9)
	if why := f.Off(); why != "" { // at once: a run may follow the join
		t.Errorf("with a host it is off: %q", why)
	}
	f.clock.Advance(time.Hour)
	if why := f.Off(); why != "" {
		t.Errorf("a lost host turns it off: %q; its runs are to wait", why)
	}
}

func (f *fixture) place(e berth.Environment) berth.Placement {
	f.t.Helper()
	p, err := f.Place(f.t.Context(), f.sandbox(), e)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func TestASandboxIsPlacedByFreeCapacityAndLabels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if p := f.place(environment(1, "1GB")); p.Host != "" || p.Wait != "no host has joined" {
		t.Errorf("without hosts: %+v", p)
	}
	f.host("eu-1", 4, 8e9, "zone", "a")
	f.host("eu-2", 8, 16e9, "zone", "b", "gpu", "yes")
	f.host("eu-3", 8, 8e9, "zone", "a")
	for i, want := range []berth.HostID{"eu-2", "eu-3", "eu-2", "eu-3", "eu-2"} {
		if p := f.place(environment(2, "2GB")); p.Host != want {
			t.Errorf("sandbox %d is placed on %+v, want %s", i, p, want)
		}
	}
	if p := f.place(environment(3, "6GB", "host.zone", "a")); p.Host != "eu-1" {
		t.Errorf("in zone a: %+v, want eu-1, as eu-3 has 4 GB left", p)
	}
	if p := f.place(environment(1, "1GB", "host.gpu", "yes", "team", "x")); p.Host != "eu-2" {
		t.Errorf("with a GPU: %+v", p)
	}
	p := f.place(environment(6, "1GB", "host.zone", "a"))
	if p.Host != "" {
		t.Fatalf("six cores: %+v", p)
	}
	for _, says := range []string{"6 cores", "eu-1 has 4 cores in all", "eu-2 lacks the label zone=a", "eu-3 has 4 cores"} {
		if !strings.Contains(p.Wait, says) {
			t.Errorf("the wait %q does not say %q", p.Wait, says)
		}
	}
}

func TestNothingIsPlacedOnAHostThatIsNotToTakeIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *fixture)
		says   string
	}{
		"draining": {func(f *fixture) { f.change("eu-1", func(h *records.StoredHost) { h.Draining = true }) }, "eu-1 is draining"},
		"silent":   {func(f *fixture) { f.clock.Advance(2 * time.Minute) }, "eu-1 has been silent for 120 s"},
		"lost":     {func(f *fixture) { f.clock.Advance(6 * time.Minute) }, "eu-1 is lost"},
		"being removed": {func(f *fixture) {
			if _, err := f.records.ClosePlaces(f.t.Context(), "eu-1", true); err != nil {
				f.t.Error(err)
			}
		}, "eu-1 is being removed"},
		"without docker": {func(f *fixture) {
			f.change("eu-1", func(h *records.StoredHost) { h.Providers = []berth.ProviderKind{berth.ProviderLocal} })
		}, "eu-1 has no docker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.host("eu-1", 4, 8e9)
			test.change(f)
			if p := f.place(environment(1, "1GB")); p.Host != "" || !strings.Contains(p.Wait, test.says) {
				t.Errorf("placed %+v, want a wait with %q", p, test.says)
			}
			_, err := f.Survey(t.Context(), environment(1, "1GB"))
			wantCode(t, "Survey", err, berth.CodeUnavailable, test.says)
		})
	}
}

func TestTheServersOwnEngineTakesWhatNoHostHasRoomFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.engine = runnertest.NewProvider()
	if p := f.place(environment(1, "1GB")); p != (berth.Placement{}) {
		t.Errorf("without hosts: %+v", p)
	}
	f.host("eu-1", 2, 8e9)
	if p := f.place(environment(2, "1GB")); p.Host != "eu-1" {
		t.Errorf("with a host: %+v", p)
	}
	if p := f.place(environment(2, "1GB")); p != (berth.Placement{}) {
		t.Errorf("with a full host: %+v", p)
	}
	if p := f.place(environment(1, "1GB", "host.zone", "a")); p.Wait == "" {
		t.Errorf("an environment that chooses its host: %+v", p)
	}
}

func TestLabelsThatNoHostHasAreRefusedAlsoWithAnEngineOfTheServersOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.engine = runnertest.NewProvider()
	f.host("eu-1", 1, 1e9, "zone", "a")
	if _, err := f.records.CreateHost(t.Context(), records.StoredHost{Host: berth.Host{ID: "eu-2", Labels: map[string]string{"zone": "it's b"}}}, "h", f.clock.Now()); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]berth.Environment{
		"no labels": environment(64, "1GB"), "labels of its own": environment(1, "1GB", "zone", "c"),
		"a host that is full": environment(64, "1GB", "host.zone", "a"), "a host that is to join": environment(1, "1GB", "host.zone", "it's b"),
	} {
		if err := f.Admits(t.Context(), e); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := environment(1, "1GB", "host.zone", "it's c", "host.disk", "ssd")
	err := f.Admits(t.Context(), e)
	wantCode(t, "Admits", err, berth.CodeUnsupported, "environment.labels", "a host with disk=ssd and zone=it's c")
	var refused *berth.Error
	if want := `berth host add NAME --label disk=ssd --label 'zone=it'\''s c'`; !errors.As(err, &refused) || !strings.Contains(refused.Remediation, want) {
		t.Errorf("it does not say %s: %+v", want, refused)
	}
	_, err = f.Survey(t.Context(), e)
	wantCode(t, "Survey", err, berth.CodeUnsupported)
	// A run that was taken in before its host was removed waits for another one.
	if p := f.place(e); p.Wait == "" {
		t.Errorf("placed %+v", p)
	}
}

func TestASandboxGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host("eu-1", 2, 8e9)
	e := environment(2, "1GB")
	id := f.sandbox()
	ref := berth.SandboxRef{ID: id, Host: "eu-1"}
	for range 2 {
		if p, err := f.Place(t.Context(), id, e); err != nil || p.Host != "eu-1" {
			t.Fatalf("Place() = %+v, %v", p, err)
		}
	}
	if _, err := f.Provision(t.Context(), berth.SandboxSpec{ID: id, Host: "eu-1", Environment: e}); err != nil {
		t.Fatal(err)
	}
	if p := f.place(e); p.Wait == "" {
		t.Fatalf("a full host took %+v", p)
	}
	if wait, err := f.Survey(t.Context(), e); err != nil || !strings.Contains(wait, "eu-1 has 0 cores") {
		t.Errorf("Survey() = %q, %v", wait, err)
	}
	if err := f.Stop(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	other := f.place(e)
	if other.Host != "eu-1" {
		t.Fatalf("a stopped sandbox holds its place: %+v", other)
	}
	_, err := f.Start(t.Context(), ref)
	wantCode(t, "Start without room", err, berth.CodeUnavailable, "no room")
	if f.agents["eu-1"].Calls("Start") > 0 {
		t.Error("it was started without room")
	}
	usage, err := f.records.ListUsage(t.Context())
	if err != nil || usage["eu-1"].Sandboxes != 2 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	for range 2 {
		if err := f.Destroy(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	if usage, err = f.records.ListUsage(t.Context()); err != nil || usage["eu-1"].Sandboxes != 1 {
		t.Errorf("after its end usage is %+v, %v", usage, err)
	}
}

func TestALostHostIsNamedWithTheTimeOfItsLastWord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host("eu-1", 2, 8e9)
	f.clock.Advance(time.Minute)
	f.beat("eu-1")
	f.clock.Advance(berth.HostGrace)
	if why, err := f.HostLost(t.Context(), "eu-1"); err != nil || why != "" {
		t.Errorf("within the grace: %q, %v", why, err)
	}
	f.clock.Advance(time.Second)
	if why, err := f.HostLost(t.Context(), "eu-1"); err != nil || !strings.Contains(why, "host eu-1 is lost") || !strings.Contains(why, "12:01:00") {
		t.Errorf("after it: %q, %v", why, err)
	}
	if why, err := f.HostLost(t.Context(), ""); err != nil || why != "" {
		t.Errorf("of the server's own engine: %q, %v", why, err)
	}
}

func TestAListOfHostsIsInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host("b", 1, 1)
	f.host("a", 1, 1)
	all, err := f.records.AllHosts(t.Context())
	if err != nil || !slices.EqualFunc(all, []berth.HostID{"a", "b"}, func(h records.StoredHost, id berth.HostID) bool { return h.ID == id }) {
		t.Errorf("AllHosts() = %v, %v", all, err)
	}
}
