package control_test

import (
	"io"
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

// closable is a provider that counts how often it is closed.
type closable struct {
	berth.Provider
	closed int
}

func (c *closable) Close() error {
	c.closed++
	return nil
}

func TestAProviderThatComesLaterIsClosedIfItCame(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1000, 0)}
	var come *closable
	late := control.Late(berth.ProviderDocker, clock, func() (berth.Provider, string) {
		if come == nil {
			return nil, "nobody answers"
		}
		return come, ""
	})
	closer, ok := late.(io.Closer)
	if !ok {
		t.Fatal("it cannot be closed")
	}
	come = &closable{}
	clock.now = clock.now.Add(time.Second)
	if opened, why := control.Opened(late); opened == nil {
		t.Fatalf("it is off: %s", why)
	}
	if err := closer.Close(); err != nil || come.closed != 1 {
		t.Errorf("Close: %v; it was closed %d times", err, come.closed)
	}
}

func TestNothingComesOnceClosed(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1000, 0)}
	tries := 0
	late := control.Late(berth.ProviderDocker, clock, func() (berth.Provider, string) {
		tries++
		return nil, "nobody answers"
	})
	if closer, ok := late.(io.Closer); !ok || closer.Close() != nil {
		t.Fatal("it cannot be closed")
	}
	clock.now = clock.now.Add(time.Minute)
	if opened, why := control.Opened(late); opened != nil || why != "nobody answers" || tries != 1 {
		t.Errorf("after its end: %v, %q, %d tries", opened, why, tries)
	}
}
