package records_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestSandboxesAreListedWithTheEnvironmentsOfTheirRuns(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	live, fresh, old := f.run(), f.run(), f.run()
	destroy := func(id berth.SandboxID) {
		_, err := f.ChangeSandbox(t.Context(), id, func(sb *berth.Sandbox) error { sb.Status = berth.SandboxDestroyed; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	destroy(old.Sandbox)
	f.clock.Advance(2 * day)
	destroy(fresh.Sandbox)
	list := func(kind berth.ProviderKind) (ids []berth.SandboxID) {
		t.Helper()
		all, err := f.ListSandboxEnvironments(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if diff := cmp.Diff(berth.LocalEnvironment(), s.Environment); diff != "" {
				t.Errorf("the environment (-want +got):\n%s", diff)
			}
			ids = append(ids, s.Sandbox.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]berth.SandboxID{live.Sandbox, fresh.Sandbox}, list(berth.ProviderLocal)); diff != "" {
		t.Errorf("those that are there, and that were until not long ago (-want +got):\n%s", diff)
	}
	if got := list(berth.ProviderSSH); len(got) != 0 {
		t.Errorf("of another provider: %v", got)
	}
}
