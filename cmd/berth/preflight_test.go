package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAReportOfWhatCouldNotBeResolvedPointsAtItsErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.preflight = berth.Preflight{Checks: []berth.Check{
		{Name: "request", Status: berth.CheckWarning, Summary: "not checked: correct the errors first"},
		{
			Name: "variables", Status: berth.CheckError, Summary: "variable A does not exist",
			Details: []berth.Problem{{Location: "env.A", Message: "variable A does not exist"}}, Remediation: "Set it.",
		},
		{
			Name: "settings", Status: berth.CheckError, Summary: "2 fields are invalid",
			Details: []berth.Problem{{Location: "resources.cpu", Message: "is too much"}, {Message: "is odd"}},
		},
	}}
	want := `-      request    not checked: correct the errors first
error  variables  env.A: variable A does not exist
                  to do: Set it.
error  settings   2 fields are invalid
                  resources.cpu: is too much
                  is odd
`
	r := newCLI(t, f.URL).run("preflight", "-e", "local", "--", "true")
	if diff := cmp.Diff(want, r.stdout); diff != "" || r.status != 2 {
		t.Errorf("berth preflight = %d, want 2 (-want +got):\n%s", r.status, diff)
	}
}
