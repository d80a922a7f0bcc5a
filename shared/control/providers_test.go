package control_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

func TestAProviderThatCouldNotBeSwitchedOnSaysWhyToWhoeverNeedsIt(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.Providers = control.NewProviders(p.provider, control.Off(berth.ProviderDaytona, "no key is set"))
	if all := p.Providers.All(); len(all) != 1 {
		t.Errorf("the providers that are on are %v", p.Providers.Kinds())
	}
	if _, err := p.Providers.Find(berth.ProviderDaytona); berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), "no key is set") {
		t.Errorf("Find: %v", err)
	}
	if _, err := p.CreateEnvironment(t.Context(), berth.Environment{ID: "far", Provider: berth.ProviderDaytona}); err != nil {
		t.Fatal(err)
	}
	report, err := p.Preflight(t.Context(), berth.RunRequest{Environment: "far", Command: []string{"true"}})
	if err != nil || report.OK {
		t.Fatalf("Preflight: OK %t, %v", report.OK, err)
	}
	const want = "the daytona provider is off on this server: no key is set"
	for _, check := range report.Checks {
		if check.Name == "provider" && (check.Status != berth.CheckError || check.Summary != want) {
			t.Errorf("the check is %+v, want %q", check, want)
		}
	}
}
