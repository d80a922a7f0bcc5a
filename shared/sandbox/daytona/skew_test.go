//go:build linux

package daytona_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

var skews = map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour}

// rushing is a clock that is ahead by all that was slept: who waits for what never
// comes gives up after so many looks, however long one takes.
type rushing struct {
	mu    sync.Mutex // guards ahead
	ahead time.Duration
}

func (c *rushing) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UTC().Add(c.ahead)
}

func (c *rushing) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.ahead += d
	c.mu.Unlock()
	return berth.SystemClock{}.Sleep(ctx, min(d, time.Millisecond))
}

func TestAStartIsWaitedForAsLongByAnyClock(t *testing.T) {
	t.Parallel()
	for name, skew := range skews {
		t.Run("a clock that is "+name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Config{Skew: skew})
			s.ScriptSandbox(daytonatest.Script{States: []string{"creating"}})
			c := config(t, s)
			c.Clock = &rushing{} // nor can it be deleted in that state
			state, err := provision(t.Context(), open(t, c), spec(t))
			if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "has not started in") {
				t.Errorf("Provision = %+v, %v, reason %+v; want failed", state, err, state.Reason)
			}
		})
	}
}

func TestABuildThatKeepsFailingIsGivenUpByAnyClock(t *testing.T) {
	t.Parallel()
	for name, skew := range skews {
		t.Run("a clock that is "+name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Config{Skew: skew})
			failing := daytonatest.Script{States: []string{"build_failed"}, Reason: "no such package"}
			for range 20 {
				s.ScriptSnapshot(failing)
			}
			state, err := provision(t.Context(), open(t, config(t, s)), built(t, "FROM debian:13\n"))
			if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "no such package") {
				t.Errorf("Provision = %+v, %v, reason %+v; want failed", state, err, state.Reason)
			}
			if n := s.Count(http.MethodPost, "/api/snapshots"); n != 2 {
				t.Errorf("it was built %d times, want 2", n)
			}
		})
	}
}
