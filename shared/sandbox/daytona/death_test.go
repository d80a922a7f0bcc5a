//go:build linux

package daytona_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// mortal carries so many requests and then none, as a process that is killed. The
// last one has its effect, if lost says so, and no answer.
type mortal struct {
	left  atomic.Int64
	lost  bool
	ended chan struct{}
}

var errDead = errors.New("the process is dead")

func newMortal(requests int64, lost bool) *mortal {
	m := &mortal{lost: lost, ended: make(chan struct{})}
	m.left.Store(requests)
	return m
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	left := m.left.Add(-1)
	if left > 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	if left == 0 {
		defer close(m.ended)
		if m.lost {
			if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
				resp.Body.Close()
			}
		}
	}
	return nil, errDead
}

// dead reports whether the process died.
func (m *mortal) dead() bool { return m.left.Load() <= 0 }

// hasty gives up at once: the process is dead.
func hasty(c daytona.Config, m *mortal) daytona.Config {
	c.Transport = m
	c.Pace.Patience, c.Pace.FirstPause, c.Pace.Relay = 20*time.Millisecond, 5*time.Millisecond, 50*time.Millisecond
	return c
}

// others puts things there that are not ours.
func others(s *daytonatest.Server) (sandboxes, snapshots int) {
	s.AddSandbox("somebody's", map[string]string{"dev.berth.installation": "other", "dev.berth.sandbox": string(sandboxtest.NewID())})
	s.AddSandbox("by hand", nil)
	s.AddSnapshot("berth-other-"+strings.Repeat("0", 32), "build_failed", time.Hour)
	s.AddSnapshot("tools:1", "error", time.Hour)
	return 2, 2
}

// checkNothingOfOurs lets another process sweep, for which no run lives, and looks.
func checkNothingOfOurs(t *testing.T, s *daytonatest.Server, c daytona.Config, sandboxes, snapshots int, when string) {
	t.Helper()
	next := open(t, c)
	defer next.Close()
	if _, err := newPlane(t, next).runner.Sweep(t.Context()); err != nil {
		t.Errorf("%s: Sweep: %v", when, err)
	}
	if left := s.Sandboxes(); len(left) != sandboxes {
		t.Errorf("%s: sandboxes %+v are left, want the %d of others", when, left, sandboxes)
	}
	failed := 0
	for _, n := range s.Snapshots() {
		if n.State == "build_failed" || n.State == "error" {
			failed++
		}
	}
	if failed != snapshots {
		t.Errorf("%s: snapshots %+v are left, want the %d of others", when, s.Snapshots(), snapshots)
	}
}

func TestAProcessThatIsKilledInAProvisionLeavesNothing(t *testing.T) {
	t.Parallel()
	needGuest(t)
	for _, lost := range []bool{false, true} {
		s := daytonatest.New(t, daytonatest.Config{})
		sandboxes, snapshots := others(s)
		failing := daytonatest.Script{States: []string{"build_failed"}, Reason: "so be it"}
		for n := int64(1); ; n++ {
			if n%3 == 0 { // also in the middle of a build that fails
				s.ScriptSnapshot(failing, failing)
			}
			m := newMortal(n, lost)
			p := open(t, hasty(config(t, s), m))
			spec := built(t, "FROM debian:13\nRUN echo "+string(sandboxtest.NewID())+"\n")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, _ = provision(ctx, p, spec)
			cancel()
			p.Close()
			s.ClearScripts()
			checkNothingOfOurs(t, s, config(t, s), sandboxes, snapshots, "after request "+itoa(n))
			if !m.dead() && n%3 != 0 {
				break
			}
		}
	}
}

func TestAProcessThatIsKilledInADestroyLeavesNothing(t *testing.T) {
	t.Parallel()
	needGuest(t)
	for _, lost := range []bool{false, true} {
		s := daytonatest.New(t, daytonatest.Config{})
		sandboxes, snapshots := others(s)
		for n := int64(1); ; n++ {
			maker := open(t, config(t, s))
			state := ready(t, maker, spec(t))
			maker.Close()
			m := newMortal(n, lost)
			p := open(t, hasty(config(t, s), m))
			err := p.Destroy(t.Context(), ref(state))
			p.Close()
			checkNothingOfOurs(t, s, config(t, s), sandboxes, snapshots, "after request "+itoa(n))
			if !m.dead() {
				if err != nil {
					t.Errorf("Destroy: %v", err)
				}
				break
			}
		}
	}
}

func TestAnotherProcessGoesOnWhereOneWasKilled(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{})
	for n := int64(1); ; n++ {
		m := newMortal(n, true)
		p := open(t, hasty(config(t, s), m))
		spec := built(t, "FROM debian:13\nRUN echo "+string(sandboxtest.NewID())+"\n")
		_, _ = provision(t.Context(), p, spec)
		p.Close()
		next := open(t, config(t, s))
		state := ready(t, next, spec)
		if row := one(t, s); row.ID != state.Ref {
			t.Errorf("after request %d: %+v, want %s", n, row, state.Ref)
		}
		if err := next.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "true"}); err != nil {
			t.Errorf("after request %d: StartCommand: %v", n, err)
		}
		if err := next.Destroy(t.Context(), ref(state)); err != nil {
			t.Errorf("after request %d: Destroy: %v", n, err)
		}
		next.Close()
		if !m.dead() {
			break
		}
	}
}
