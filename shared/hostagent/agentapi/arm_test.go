package agentapi_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// speaker is a command whose output a test makes.
type speaker struct {
	mu    sync.Mutex // guards all below
	size  int64
	ended bool
	err   error
	grown chan struct{}
}

func newSpeaker() *speaker { return &speaker{grown: make(chan struct{})} }

func (s *speaker) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.grown)
	s.grown = make(chan struct{})
}

func (s *speaker) speak() { s.change(func() { s.size++ }) }

func (s *speaker) read(ctx context.Context, offset int64, wait time.Duration) (berth.Output, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s.mu.Lock()
		size, ended, err, grown := s.size, s.ended, s.err, s.grown
		s.mu.Unlock()
		if err != nil || size > offset || ended {
			return berth.Output{Bytes: make([]byte, max(0, size-offset)), Next: max(size, offset), Ended: ended}, err
		}
		select {
		case <-grown:
		case <-timer.C:
			return berth.Output{Next: offset}, nil
		case <-ctx.Done():
			return berth.Output{}, ctx.Err()
		}
	}
}

// speakers is a provider of them.
type speakers struct {
	berth.Provider
	mu       sync.Mutex // guards commands
	commands map[berth.CommandID]*speaker
}

func (s *speakers) Kind() berth.ProviderKind { return berth.ProviderLocal }

func (s *speakers) ReadOutput(ctx context.Context, _ berth.SandboxRef, id berth.CommandID, offset int64, _ int, wait time.Duration) (berth.Output, error) {
	s.mu.Lock()
	c := s.commands[id]
	s.mu.Unlock()
	if c == nil {
		return berth.Output{}, berth.Errorf(berth.CodeNotFound, "the command does not exist")
	}
	return c.read(ctx, offset, wait)
}

// armed is an agent that nudges the test.
type armed struct {
	*edge
	t        *testing.T
	commands *speakers
	nudges   chan berth.Nudge
}

func newArmed(t *testing.T, change func(*agentapi.Config)) *armed {
	a := &armed{t: t, commands: &speakers{commands: map[berth.CommandID]*speaker{}}, nudges: make(chan berth.Nudge, 2000)}
	a.edge = newEdge(t, func(c *agentapi.Config) {
		c.Providers = agentapi.Providers{berth.ProviderLocal: a.commands}
		c.Nudge = func(n berth.Nudge) { a.nudges <- n }
		if change != nil {
			change(c)
		}
	})
	return a
}

func (a *armed) command(id berth.CommandID) *speaker {
	s := newSpeaker()
	a.commands.mu.Lock()
	a.commands.commands[id] = s
	a.commands.mu.Unlock()
	return s
}

func (a *armed) arm(id berth.CommandID, offset int64) int {
	return a.do(http.MethodPost, sandbox+"/commands/"+string(id)+"/arm", fmt.Sprintf(`{"offset":%d}`, offset)).status
}

func (a *armed) mustArm(id berth.CommandID, offset int64) {
	a.t.Helper()
	if status := a.arm(id, offset); status != http.StatusNoContent {
		a.t.Fatalf("arm is answered with %d", status)
	}
}

// wantNudge waits for one.
func (a *armed) wantNudge(id berth.CommandID) {
	a.t.Helper()
	select {
	case n := <-a.nudges:
		if n != (berth.Nudge{Sandbox: sandboxID, Command: id}) {
			a.t.Fatalf("a nudge for %+v, want one for %s", n, id)
		}
	case <-time.After(20 * time.Second):
		a.t.Fatal("no nudge came")
	}
}

// wantNone has whoever would nudge do it: another command's nudge comes after.
func (a *armed) wantNone() {
	a.t.Helper()
	select {
	case n := <-a.nudges:
		a.t.Fatalf("a nudge for %+v that nobody is armed for", n)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestAnArmingIsOneNudge(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	c := a.command("c")
	a.mustArm("c", 0)
	a.wantNone()
	c.speak()
	a.wantNudge("c")
	c.speak()
	c.change(func() { c.ended = true })
	a.wantNone()
}

func TestWhatWasSaidBeforeTheArmingIsNudgedAtOnce(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	c := a.command("c")
	c.speak() // after the last read, at offset 0
	a.mustArm("c", 0)
	a.wantNudge("c")
	a.mustArm("c", 1) // what is said is read
	a.wantNone()
	c.change(func() { c.ended = true })
	a.wantNudge("c")
	a.mustArm("c", 1) // it has ended, and whoever arms does not know
	a.wantNudge("c")
}

func TestArmingAgainIsOneArming(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	c := a.command("c")
	for range 3 {
		a.mustArm("c", 0)
	}
	c.speak()
	a.wantNudge("c")
	a.wantNone()
}

func TestAnArmingAtAnotherOffsetTakesThePlaceOfTheFirst(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	c := a.command("c")
	a.mustArm("c", 0)
	a.mustArm("c", 1)
	c.speak() // behind 0, and not behind 1
	a.wantNone()
	c.speak()
	a.wantNudge("c")
	a.wantNone()
}

func TestACommandThatCannotBeReadAnyMoreIsNudgedFor(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	c := a.command("c")
	a.mustArm("c", 0)
	c.change(func() { c.err = berth.Errorf(berth.CodeNotFound, "the sandbox is gone") })
	a.wantNudge("c")
}

func TestArmingIsRefusedWhereItCannotBeKept(t *testing.T) {
	t.Parallel()
	a := newArmed(t, nil)
	if status := a.arm("none", 0); status != http.StatusNotFound {
		t.Errorf("for a command that does not exist: %d", status)
	}
	for i := range 1024 {
		id := berth.CommandID(fmt.Sprintf("c%d", i))
		a.command(id)
		a.mustArm(id, 0)
	}
	one := a.command("one-more")
	if status := a.arm("one-more", 0); status != http.StatusTooManyRequests {
		t.Errorf("one too many: %d", status)
	}
	a.mustArm("c7", 0) // which is there already
	a.commands.commands["c7"].speak()
	a.wantNudge("c7")
	a.mustArm("one-more", 0)
	one.speak()
	a.wantNudge("one-more")
	if got := newEdge(t, nil).do(http.MethodPost, sandbox+"/commands/c/arm", `{"offset":0}`); got.status != http.StatusUnprocessableEntity {
		t.Errorf("at an agent that has not joined: %d", got.status)
	}
	a.server.Close()
	a.command("late")
	if status := a.arm("late", 0); status != http.StatusServiceUnavailable {
		t.Errorf("at an agent that ends: %d", status)
	}
}

// stepped is a clock that a test moves.
type stepped struct {
	berth.SystemClock
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *stepped) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepped) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// brief answers that there is nothing without waiting for long.
type brief struct {
	*speakers
	looked chan struct{}
}

func (b brief) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	out, err := b.speakers.ReadOutput(ctx, ref, id, offset, limit, min(wait, time.Millisecond))
	if wait > 0 {
		select {
		case b.looked <- struct{}{}:
		case <-ctx.Done():
		}
	}
	return out, err
}

func TestAnArmingThatNobodyRenewsIsForgotten(t *testing.T) {
	t.Parallel()
	clock := &stepped{now: time.Unix(1e9, 0)}
	looked := make(chan struct{})
	a := newArmed(t, func(c *agentapi.Config) {
		c.Clock = clock
		c.Providers = agentapi.Providers{berth.ProviderLocal: brief{c.Providers[berth.ProviderLocal].(*speakers), looked}}
	})
	c := a.command("c")
	a.mustArm("c", 0)
	<-looked
	clock.advance(time.Minute)
	a.mustArm("c", 0) // renews it
	clock.advance(time.Minute + time.Second)
	<-looked
	<-looked // it goes on, beyond the first one's end
	clock.advance(time.Minute)
	for n, over := 0, false; !over; n++ {
		if n > 2 { // reads that had begun as the time ended
			t.Fatal("it is watched beyond its end")
		}
		select {
		case <-looked:
		case <-time.After(200 * time.Millisecond):
			over = true
		}
	}
	c.speak()
	a.wantNone()
}
