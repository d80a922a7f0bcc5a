package records_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

func TestRoomIsGivenToSoManyRunsAndNoMore(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	const places = 3
	var ids []berth.RunID
	for range 10 {
		ids = append(ids, f.run().ID)
	}
	var taken atomic.Int32
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for range 2 { // who has a place keeps it
				ok, err := f.TakeRoom(t.Context(), "runs", id, places)
				if err != nil {
					t.Error(err)
				}
				if ok {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 2*places {
		t.Errorf("%d of %d places were given", n/2, places)
	}
}

func TestAPlaceIsFreeAgainWhenItsRunLeavesOrHasEnded(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	one, two, three := f.run().ID, f.run().ID, f.run().ID
	take := func(id berth.RunID) bool {
		ok, err := f.TakeRoom(t.Context(), "runs", id, 1)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !take(one) || take(two) {
		t.Fatal("the place was not given to the first alone")
	}
	for range 2 {
		if err := f.LeaveRoom(t.Context(), "runs", one); err != nil {
			t.Fatal(err)
		}
	}
	if !take(two) || take(three) {
		t.Fatal("the place that was left was not given to the second alone")
	}
	f.moved(two, berth.RunCancelled) // and its server died before it left
	if !take(three) {
		t.Error("an ended run holds a place")
	}
}

func TestASandboxAndItsCommandsAreDeletedTogether(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	sb := f.run().Sandbox
	for _, id := range []berth.CommandID{"a", "b"} {
		if _, created, err := f.CreateCommand(t.Context(), berth.Command{ID: id, Sandbox: sb, Argv: []string{"true"}}); err != nil || !created {
			t.Fatalf("CreateCommand() = %v, %v", created, err)
		}
	}
	for range 2 {
		if err := f.DeleteSandbox(t.Context(), sb); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.FindCommand(t.Context(), sb, "a")
	wantCode(t, "FindCommand", err, berth.CodeNotFound)
	_, err = f.FindSandbox(t.Context(), sb)
	wantCode(t, "FindSandbox", err, berth.CodeNotFound)
	_, err = f.ChangeSandbox(t.Context(), sb, func(*berth.Sandbox) error { return nil })
	wantCode(t, "ChangeSandbox", err, berth.CodeNotFound)
}

func TestTheSameCommandIsTheRecordedOneAndAnotherIsAConflict(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	cmd := berth.Command{ID: "a", Sandbox: "s", Argv: []string{"echo", "x"}, Dir: "d", Timeout: "5s"}
	if _, _, err := f.CreateCommand(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	same, created, err := f.CreateCommand(t.Context(), cmd)
	if err != nil || created || !same.CreatedAt.Equal(f.clock.Now().Add(-time.Hour)) {
		t.Errorf("CreateCommand() = %+v, %v, %v", same, created, err)
	}
	for name, change := range map[string]func(*berth.Command){
		"argv":    func(c *berth.Command) { c.Argv = []string{"echo", "y"} },
		"script":  func(c *berth.Command) { c.Argv, c.Script = nil, "echo x" },
		"dir":     func(c *berth.Command) { c.Dir = "e" },
		"timeout": func(c *berth.Command) { c.Timeout = "6s" },
	} {
		other := cmd
		change(&other)
		_, _, err := f.CreateCommand(t.Context(), other)
		wantCode(t, "another "+name, err, berth.CodeConflict)
	}
	cmd.ID, cmd.Argv = "b", []string{strings.Repeat("x", berth.MaxItemBytes)}
	_, _, err = f.CreateCommand(t.Context(), cmd)
	wantCode(t, "a command over the cap", err, berth.CodeTooLarge)
	for range 2 {
		if err := f.DeleteCommand(t.Context(), "s", "a"); err != nil {
			t.Error(err)
		}
	}
	_, err = f.ChangeCommand(t.Context(), "s", "a", func(*berth.Command) error { return nil })
	wantCode(t, "ChangeCommand", err, berth.CodeNotFound)
}

func TestASeedThatWasDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	seed := berth.SeedEnvironment()
	for range 2 {
		if err := f.SeedOnce(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
	}
	e, err := f.FindEnvironment(t.Context(), seed.ID)
	if diff := cmp.Diff(seed, e.Environment); err != nil || diff != "" {
		t.Fatalf("seed (-want +got):\n%s %v", diff, err)
	}
	if err := f.DeleteEnvironment(t.Context(), seed.ID, e.Version); err != nil {
		t.Fatal(err)
	}
	if err := f.SeedOnce(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	_, err = f.FindEnvironment(t.Context(), seed.ID)
	wantCode(t, "FindEnvironment", err, berth.CodeNotFound)
}

func TestOneOfTwoReplacementsWins(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	e, err := f.CreateEnvironment(t.Context(), berth.SeedEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	var won, stale atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := f.ReplaceEnvironment(t.Context(), e.Environment, e.Version)
			switch berth.CodeOf(err) {
			case "":
				won.Add(1)
			case berth.CodeStale:
				stale.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || stale.Load() != 7 {
		t.Errorf("%d won and %d were stale", won.Load(), stale.Load())
	}
}

func TestAnIdempotencyKeyIsBoundToItsBodyAndLastsADay(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	begin := func(hash string) (records.Idempotent, bool, error) {
		return f.BeginIdempotent(t.Context(), "create-run", "key", hash)
	}
	first, done, err := begin("h1")
	if err != nil || done || first.ID == "" || first.TakenOver {
		t.Fatalf("the first = %+v, %v, %v", first, done, err)
	}
	_, _, err = begin("h1")
	wantCode(t, "one in progress", err, berth.CodeConflict)
	_, _, err = begin("h2")
	wantCode(t, "another body", err, berth.CodeInvalid)
	f.clock.Advance(2 * time.Minute) // its server has died
	if again, done, err := begin("h1"); err != nil || done || again.ID != first.ID || !again.TakenOver {
		t.Fatalf("taking over = %+v, %v, %v; want the id %s", again, done, err, first.ID)
	}
	if err := f.EndIdempotent(t.Context(), "create-run", "key", "run-1", 201); err != nil {
		t.Fatal(err)
	}
	if r, done, err := begin("h1"); err != nil || !done || r.Resource != "run-1" || r.HTTP != 201 {
		t.Errorf("a replay = %+v, %v, %v", r, done, err)
	}
	f.clock.Advance(25 * time.Hour)
	if later, done, err := begin("h2"); err != nil || done || later.ID == first.ID || later.TakenOver {
		t.Errorf("after a day = %+v, %v, %v", later, done, err)
	}
	if err := f.EndIdempotent(t.Context(), "create-run", "key", "", 0); err != nil {
		t.Fatal(err)
	}
	if next, done, err := begin("h3"); err != nil || done || next.ID == first.ID || next.TakenOver {
		t.Errorf("after a failure = %+v, %v, %v", next, done, err)
	}
}

func TestVariablesKeepTheirBirthdayOverAnUpdate(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	first, created, err := f.PutVariable(t.Context(), "A", "1", true)
	if err != nil || !created {
		t.Fatalf("PutVariable() = %v, %v", created, err)
	}
	f.clock.Advance(time.Hour)
	_, _, err = f.PutVariable(t.Context(), "A", "2", true)
	wantCode(t, "creating it again", err, berth.CodeConflict)
	second, created, err := f.PutVariable(t.Context(), "A", "2", false)
	if err != nil || created || !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Equal(first.UpdatedAt) || second.Value != "2" {
		t.Errorf("PutVariable() = %+v, %v, %v", second, created, err)
	}
	if err := f.DeleteVariable(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "DeleteVariable again", f.DeleteVariable(t.Context(), "A"), berth.CodeNotFound)
}

func TestTheInstallationIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	var mu sync.Mutex // guards ids
	ids := map[berth.InstallationID]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			in, err := f.OpenInstallation(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[in.ID] = true
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("%d installations", len(ids))
	}
}

func TestARecordOfANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	item := berth.Item{PK: "env", SK: "future", Body: []byte(`{"schema":99,"value":{}}`)}
	if _, err := f.Table.Put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	_, err := f.FindEnvironment(t.Context(), "future")
	wantCode(t, "FindEnvironment", err, berth.CodeUnavailable)
	if err == nil || !strings.Contains(err.Error(), "update berth") {
		t.Errorf("FindEnvironment() = %v", err)
	}
}

func TestTheScopeOfSnapshotsIsMadeOnceAndStays(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	var scopes [8]string
	var all sync.WaitGroup
	for i := range scopes {
		all.Go(func() {
			scope, err := f.SnapshotScope(t.Context())
			if err != nil {
				t.Error(err)
			}
			scopes[i] = string(scope.Reveal())
		})
	}
	all.Wait()
	for _, scope := range scopes {
		if len(scope) != 64 || scope != scopes[0] {
			t.Errorf("scopes %q", scopes)
		}
	}
	other, err := newStore(t).SnapshotScope(t.Context())
	if err != nil || string(other.Reveal()) == scopes[0] {
		t.Errorf("another installation has %q, %v", other.Reveal(), err)
	}
}
