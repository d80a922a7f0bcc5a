package control_test

import (
	"strings"
	"testing"
	"time"

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
	report, err := p.Preflight(t.Context(), berth.RunRequest{Environment: "far", Command: []string{"true"}}, true)
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

// handClock goes on when a test says so.
type handClock struct {
	berth.SystemClock
	now time.Time
}

func (c *handClock) Now() time.Time { return c.now }

func TestAProviderThatComesLaterIsOnFromThenOn(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	clock := &handClock{now: time.Unix(1000, 0)}
	tries, there := 0, false
	all := control.NewProviders(control.Late(p.provider.Kind(), clock, func() (berth.Provider, string) {
		tries++
		if there {
			return p.provider, ""
		}
		return nil, "nobody answers"
	}))
	for range 3 { // within a second it is tried once
		if _, err := all.Find(p.provider.Kind()); berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), "nobody answers") {
			t.Errorf("Find: %v", err)
		}
	}
	if why := all.Reasons()[p.provider.Kind()]; tries != 1 || why != "nobody answers" || len(all.Kinds()) != 0 {
		t.Errorf("%d tries, because of %q; on are %v", tries, why, all.Kinds())
	}
	there = true
	clock.now = clock.now.Add(time.Second)
	for range 2 {
		if found, err := all.Find(p.provider.Kind()); err != nil || found != berth.Provider(p.provider) {
			t.Errorf("Find: %v, %v", found, err)
		}
	}
	if tries != 2 || len(all.Reasons()) != 0 || len(all.All()) != 1 {
		t.Errorf("%d tries; on are %v, off %v", tries, all.Kinds(), all.Reasons())
	}
}
