package berth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestFieldPathQuotesWhatIsNoPlainWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 40)
	for _, c := range []struct{ parent, key, want string }{
		{"", "id", "id"},
		{"env", "NAME_1", "env.NAME_1"},
		{"environments", "fabro-dev", "environments.fabro-dev"},
		{"labels", "a.b", `labels["a.b"]`},
		{"env", "", `env[""]`},
		{"", "a b", `["a b"]`},
		{"env", "TOKEN=s3cret", `env["TOKEN=…"]`},
		{"env", "a\x00\n", `env["a\x00\n"]`},
		{"env", long, `env["` + strings.Repeat("é", 32) + `…"]`},
	} {
		if got := berth.FieldPath(c.parent, c.key); got != c.want {
			t.Errorf("FieldPath(%q, %q) = %q, want %q", c.parent, c.key, got, c.want)
		}
	}
	if got := berth.IndexPath("network.allow", 2); got != "network.allow[2]" {
		t.Errorf("IndexPath = %q", got)
	}
}

func TestProblemsCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	var inner, outer berth.Problems
	for range 150 {
		inner.Addf("a", "is wrong")
	}
	outer.Addf("first", "is wrong")
	outer.Add(inner.List()...)
	list := outer.List()
	want := berth.Problem{Message: "and 51 more"}
	if last := list[len(list)-1]; len(list) != berth.MaxProblems+1 || last != want {
		t.Errorf("%d problems, the last %v; want %d, %v", len(list), last, berth.MaxProblems+1, want)
	}
	if got := berth.Invalid(list).Error(); !strings.HasPrefix(got, "151 fields are invalid; ") {
		t.Errorf("Invalid: %.40s, want 151 fields", got)
	}
}

func TestProblemsIsEmptyUntilSomethingIsAdded(t *testing.T) {
	t.Parallel()
	var p berth.Problems
	p.AddError("x", nil)
	if !p.Empty() || len(p.List()) != 0 {
		t.Errorf("a Problems without problems has %v", p.List())
	}
	p.AddError("x", berth.Errorf(berth.CodeInvalid, "is wrong"))
	if diff := cmp.Diff([]berth.Problem{{Location: "x", Message: "is wrong"}}, p.List()); diff != "" {
		t.Errorf("List (-want +got)\n%s", diff)
	}
}

func TestOnlyTheCutMarkIsARest(t *testing.T) {
	t.Parallel()
	for _, p := range []berth.Problem{{Location: "", Message: "and more"}, {Location: "x", Message: "and 3 more"}, {Message: "the environment takes 3 more"}} {
		if n, ok := p.Rest(); ok {
			t.Errorf("%v.Rest() = %d, true", p, n)
		}
	}
}
