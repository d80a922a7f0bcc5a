//go:build linux

package daytona_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func ref(state berth.SandboxState) berth.SandboxRef {
	return berth.SandboxRef{ID: state.ID, Ref: state.Ref}
}

// one is the only sandbox there is.
func one(t testing.TB, s *daytonatest.Server) daytonatest.SandboxRow {
	t.Helper()
	all := s.Sandboxes()
	if len(all) != 1 {
		t.Fatalf("sandboxes: %+v, want one", all)
	}
	return all[0]
}

func TestASandboxIsEphemeralUnlessItIsPreserved(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	first := ready(t, p, spec(t))
	if row := one(t, s); row.AutoDelete != 0 || row.Name != "berth-"+string(first.ID) || row.Snapshot != "daytona-medium" || row.AutoStop != 120 {
		t.Errorf("sandbox %+v", row)
	}
	if err := p.Destroy(t.Context(), ref(first)); err != nil {
		t.Fatal(err)
	}
	preserved := spec(t)
	preserved.Environment.Lifecycle.Preserve = true
	ready(t, p, preserved)
	if row := one(t, s); row.AutoDelete != -1 {
		t.Errorf("sandbox %+v", row)
	}
}

func TestStoppingAnEphemeralSandboxKeepsItsFiles(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if _, err := p.WriteFile(t.Context(), ref(state), "kept", strings.NewReader("x"), 1, 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	if row := one(t, s); row.State != "stopped" || row.AutoDelete != -1 {
		t.Errorf("stopped: %+v", row)
	}
	if _, err := p.Start(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	if row := one(t, s); row.State != "started" || row.AutoDelete != 0 {
		t.Errorf("started: %+v", row)
	}
	if data, err := p.ReadFile(t.Context(), ref(state), "kept", 0, 0, ""); err != nil || string(data.Data) != "x" {
		t.Errorf("the file is %q, %v", data.Data, err)
	}
}

func TestASandboxThatIsChangingIsDeletedWhenItHasChanged(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		s := daytonatest.New(t, daytonatest.Config{StartTime: 300 * time.Millisecond, OldErrors: old})
		p := open(t, config(t, s))
		spec := spec(t)
		if state, err := p.Provision(cut(t, 20*time.Millisecond), spec); err != nil || state.Status != berth.SandboxCreating {
			t.Fatalf("Provision = %+v, %v", state, err)
		}
		for deadline := time.Now().Add(10 * time.Second); len(s.Sandboxes()) == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		}
		if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		if left := s.Sandboxes(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	}
}

func TestNobodyWaitsForASandboxThatIsStuckInDeleting(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{DeleteTime: time.Hour})
	c := config(t, s)
	c.Pace.Gone = 100 * time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.Destroy(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []berth.Provider{p, open(t, c)} {
		if got, err := p.Describe(t.Context(), ref(state)); err != nil || got.Status != berth.SandboxGone {
			t.Errorf("Describe = %+v, %v", got, err)
		}
		if list, err := p.List(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("List = %+v, %v", list, err)
		}
	}
}

func TestWhatIsNotOursIsNeverTouched(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	spec := spec(t)
	taken := "berth-" + string(spec.ID)
	s.AddSandbox(taken, map[string]string{"dev.berth.installation": "other", "dev.berth.sandbox": string(spec.ID)})
	s.AddSandbox("unlabelled", nil)
	s.AddSandbox("half", map[string]string{"dev.berth.installation": installation, "dev.berth.sandbox": "not an id"})
	state := ready(t, p, spec)
	rows := s.Sandboxes()
	if len(rows) != 4 {
		t.Fatalf("sandboxes %+v", rows)
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != spec.ID {
		t.Errorf("List = %+v, %v", list, err)
	}
	for _, row := range rows {
		if row.ID == state.Ref {
			continue
		}
		// Asked by a ref that names another's.
		if err := p.Destroy(t.Context(), berth.SandboxRef{ID: sandboxtest.NewID(), Ref: row.ID}); err != nil {
			t.Errorf("Destroy: %v", err)
		}
	}
	if err := p.Destroy(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	if left := s.Sandboxes(); len(left) != 3 {
		t.Errorf("left: %+v", left)
	}
}

func TestTheListIsRightThoughDaytonasLagsBehind(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{ListLag: time.Hour})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0] != state {
		t.Errorf("List = %+v, %v; want %+v", list, err, state)
	}
}

func TestStatesAreToldForWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	for daytona, want := range map[string]berth.SandboxStatus{
		"stopped": berth.SandboxStopped, "archived": berth.SandboxStopped, "error": berth.SandboxFailed, "build_failed": berth.SandboxFailed,
		"restoring": berth.SandboxCreating, "destroyed": berth.SandboxGone,
	} {
		s.SetState(state.Ref, daytona)
		if got, err := open(t, config(t, s)).Describe(t.Context(), ref(state)); err != nil || got.Status != want {
			t.Errorf("%s: Describe = %+v, %v", daytona, got, err)
		}
	}
	s.SetState(state.Ref, "meditating")
	for call, err := range map[string]error{
		"Describe": second(p.Describe(t.Context(), ref(state))),
		"Start":    second(p.Start(t.Context(), ref(state))),
		"Stop":     p.Stop(t.Context(), ref(state)),
	} {
		if err == nil || !strings.Contains(err.Error(), "meditating") {
			t.Errorf("%s: %v, which does not name the state", call, err)
		}
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("List = %+v, %v", list, err)
	}
	hasty := config(t, s)
	hasty.Pace.Patience = 200 * time.Millisecond
	if err := open(t, hasty).Destroy(t.Context(), ref(state)); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Destroy of a sandbox that Daytona does not delete: %v, want conflict", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAStartThatFailsOnceIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{StartTime: 20 * time.Millisecond})
	s.ScriptSandbox(daytonatest.Script{States: []string{"creating", "error"}, Reason: "internal error"})
	ready(t, open(t, config(t, s)), spec(t))
	one(t, s)
}

func TestAStartThatKeepsFailingIsToldAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{StartTime: 20 * time.Millisecond})
	failing := daytonatest.Script{States: []string{"creating", "error"}, Reason: "the runner is on fire"}
	s.ScriptSandbox(failing, failing)
	state, err := provision(t.Context(), open(t, config(t, s)), spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "the runner is on fire", "error")
	if left := s.Sandboxes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestAStateThatIsNotKnownIsWaitedForAndThenNamed(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{StartTime: 50 * time.Millisecond})
	s.ScriptSandbox(daytonatest.Script{States: []string{"warming_up", "started"}})
	p := open(t, config(t, s))
	if err := p.Destroy(t.Context(), ref(ready(t, p, spec(t)))); err != nil {
		t.Fatal(err)
	}
	s.ScriptSandbox(daytonatest.Script{States: []string{"warming_up"}})
	c := config(t, s)
	c.Pace.Start = 200 * time.Millisecond
	c.Pace.Patience = time.Second
	state, err := provision(t.Context(), open(t, c), spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "warming_up", "does not know")
}

func TestRunnersThatAreNotThereYetAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.ScriptSandbox(daytonatest.Script{States: []string{"started"}, NoRunners: 3})
	ready(t, open(t, config(t, s)), spec(t))
}

func TestAQuotaIsToldAsWhatItIs(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{MaxSandboxes: 1})
	p := open(t, config(t, s))
	ready(t, p, spec(t))
	state, err := provision(t.Context(), p, spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "quota", "Total CPU limit exceeded")
	if n := s.Count(http.MethodPost, "/api/sandbox"); n != 2 {
		t.Errorf("asked %d times, want once each", n)
	}
}

func TestTheAnswerOfACreationThatIsLostMakesNoSecondSandbox(t *testing.T) {
	t.Parallel()
	needGuest(t)
	for _, fault := range []daytonatest.Fault{daytonatest.ResetAfter, daytonatest.ResetBefore, daytonatest.EmptyGateway, daytonatest.Page} {
		s := daytonatest.New(t, daytonatest.Config{})
		done := false
		s.SetFault(func(r *http.Request) daytonatest.Fault {
			if r.Method == http.MethodPost && r.URL.Path == "/api/sandbox" && !done {
				done = true
				return fault
			}
			return daytonatest.None
		})
		ready(t, open(t, config(t, s)), spec(t))
		one(t, s)
	}
}

func TestManySandboxesAtATimeDoNotHoldEachOther(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	var calls sync.WaitGroup
	for range 12 {
		spec := spec(t)
		calls.Go(func() {
			for range 20 {
				if _, err := p.Provision(t.Context(), spec); err != nil {
					t.Errorf("Provision: %v", err)
				}
				if _, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
					t.Errorf("Describe: %v", err)
				}
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Errorf("Destroy: %v", err)
			}
		})
	}
	calls.Wait()
	if left := s.Sandboxes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}
