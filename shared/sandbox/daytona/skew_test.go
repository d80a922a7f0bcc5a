//go:build linux

package daytona_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

var skews = map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour}

func TestAStartIsWaitedForAsLongByAnyClock(t *testing.T) {
	t.Parallel()
	for name, skew := range skews {
		t.Run("a clock that is "+name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Config{Skew: skew})
			s.ScriptSandbox(daytonatest.Script{States: []string{"creating"}})
			c := config(t, s)
			c.Clock = &sandboxtest.HastyClock{} // nor can it be deleted in that state
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
