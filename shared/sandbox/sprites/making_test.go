//go:build linux

package sprites_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

// A creation may wait for room for minutes, and whoever calls Provision may not.
func TestProvisionReturnsSoonWhateverTheServiceWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.config.Moment = 20 * time.Millisecond
	held := make(chan struct{})
	w.Fail(createRoute, spritestest.Fault{Held: held})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	for range 3 {
		began := time.Now()
		state, err := p.Provision(t.Context(), spec)
		if err != nil || state.Status != berth.SandboxCreating || state.Run != runID || state.Detail == "" || time.Since(began) > 15*time.Second {
			t.Fatalf("Provision = %+v, %v after %v; want creating at once", state, err, time.Since(began))
		}
	}
	close(held)
	needGuest(t)
	state := settled(t, p, spec)
	if state.Status != berth.SandboxReady {
		t.Fatalf("the sandbox is %+v", state)
	}
	created := slices.DeleteFunc(w.Requests(), func(route string) bool { return route != createRoute })
	if len(created) != 1 {
		t.Errorf("it was created %d times", len(created))
	}
	ref := berth.SandboxRef{ID: spec.ID, Ref: state.Ref}
	if got := output(t, p, ref, "c", "echo x"); got.text != "x\n" {
		t.Errorf("a command: %+v", got)
	}
	if err := p.Destroy(t.Context(), ref); err != nil {
		t.Error(err)
	}
	w.check(t, spec.ID)
}

// settled looks until the sandbox is made, or not.
func settled(t *testing.T, p *sprites.Provider, spec berth.SandboxSpec) berth.SandboxState {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID})
		if err != nil || state.Status != berth.SandboxCreating || time.Now().After(deadline) {
			if err != nil {
				t.Fatalf("Describe = %+v, %v", state, err)
			}
			return state
		}
	}
}

// The answer to a creation that takes long may be lost while it goes on.
func TestASpriteThatIsStillBeingMadeIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.Fail(createRoute, spritestest.Fault{Cut: true}, spritestest.Fault{Status: 400, Body: `{"error":"bad_request","message":"name has already been taken"}`})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	for range 2 {
		if state, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Fatalf("Provision = %+v, %v, want unavailable", state, err)
		}
	}
	ref := insist(t, p, spec)
	if err := p.Destroy(t.Context(), ref); err != nil {
		t.Error(err)
	}
	w.check(t, spec.ID)
}

func TestASandboxThatIsBeingMadeIsDestroyedWhole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "mine"} {
		w := newWard(t)
		w.config.Moment = time.Nanosecond
		w.Fail(createRoute, spritestest.Fault{Late: 300 * time.Millisecond})
		w.Fail(showRoute, spritestest.Fault{Late: 100 * time.Millisecond})
		p, spec := open(t, w.config), specOf(berth.Environment{Sprites: &berth.SpritesOptions{Name: name}})
		state, err := p.Provision(t.Context(), spec)
		if err != nil || state.Status != berth.SandboxCreating {
			t.Fatalf("Provision = %+v, %v", state, err)
		}
		within(t, "the work begins", func() bool { return len(w.Requests()) > 0 })
		if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID, Ref: state.Ref}); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		if state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || state.Status != berth.SandboxGone {
			t.Errorf("Describe = %+v, %v, want gone", state, err)
		}
		if list, err := p.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("List = %+v, %v, want nothing", list, err)
		}
	}
}

func TestWhatBecameOfAMakingIsToldToAllWhoLookAndOnceToWhoMakesIt(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.config.Moment = time.Nanosecond
	w.Fail(createRoute, spritestest.Fault{Status: 400, Body: `{"message":"organization acme does not exist"}`, Header: map[string]string{}})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	state, err := p.Provision(t.Context(), spec)
	for deadline := time.Now().Add(20 * time.Second); err == nil && state.Status == berth.SandboxCreating && time.Now().Before(deadline); {
		state, err = p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID})
	}
	for range 2 {
		if berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("the sandbox is %+v, %v; want invalid", state, err)
		}
		state, err = p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID})
	}
	asked := len(w.Requests())
	if state, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeInvalid || len(w.Requests()) != asked {
		t.Errorf("Provision = %+v, %v after %q; want invalid, and nothing made", state, err, w.Requests()[asked:])
	}
	if state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("after that it is %+v, %v; want gone", state, err)
	}
	w.check(t, spec.ID)
}

// Who only looks does not take it from the run, which makes the sandbox.
func TestAMakingThatWasInterruptedIsCreatingForAllWhoLookAndToldByProvision(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.config.Moment = time.Nanosecond
	log := &lines{}
	w.config.Logger = slog.New(slog.NewTextHandler(log, nil))
	w.Fail(createRoute, spritestest.Fault{Cut: true})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	if state, err := p.Provision(t.Context(), spec); err != nil || state.Status != berth.SandboxCreating {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	within(t, "the making ends", func() bool { return strings.Contains(log.text(), "a sandbox is not made") })
	asked := len(w.Requests())
	for range 2 {
		state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID})
		if err != nil || state.Status != berth.SandboxCreating || !strings.HasSuffix(state.Detail, " does not answer") {
			t.Errorf("Describe = %+v, %v; want creating and why it is not made, without what is for the log", state, err)
		}
	}
	if state, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeUnavailable || len(w.Requests()) != asked {
		t.Errorf("Provision = %+v, %v after %q; want unavailable, and nothing made", state, err, w.Requests()[asked:])
	}
	if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
		t.Error(err)
	}
	w.check(t, spec.ID)
}

// A function may be frozen for hours in the middle of it.
func TestNothingIsBegunThatNobodyAsksForAnyMore(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	clock, log := &sandboxtest.HastyClock{}, &lines{}
	w.config.Clock, w.config.Moment, w.config.Logger = clock, time.Nanosecond, slog.New(slog.NewTextHandler(log, nil))
	held := make(chan struct{})
	w.Fail(createRoute, spritestest.Fault{Held: held})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	if state, err := p.Provision(t.Context(), spec); err != nil || state.Status != berth.SandboxCreating {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	within(t, "the creation is asked for", func() bool { return slices.Contains(w.Requests(), createRoute) })
	_ = clock.Sleep(t.Context(), time.Hour)
	close(held)
	within(t, "the work ends", func() bool { return strings.Contains(log.text(), "interrupted") })
	if slices.Contains(w.Requests(), execRoute) || len(w.Sprites()) != len(w.before)+1 {
		t.Errorf("it was prepared: %q", w.Requests())
	}
	w.sweep(t, spec.ID, true)
	w.check(t, spec.ID)
}

func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func TestAProviderThatIsClosedMakesNothing(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.config.Moment = time.Nanosecond
	w.Fail(createRoute, spritestest.Fault{Late: 300 * time.Millisecond})
	p, spec := open(t, w.config), specOf(berth.Environment{})
	if state, err := p.Provision(t.Context(), spec); err != nil || state.Status != berth.SandboxCreating {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	if err := p.Close(); err != nil { // waits for what is at work
		t.Error(err)
	}
	if state, err := p.Provision(t.Context(), specOf(berth.Environment{})); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Provision after the end = %+v, %v", state, err)
	}
}
