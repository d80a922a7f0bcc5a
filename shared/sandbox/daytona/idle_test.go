//go:build linux

package daytona_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAPlainCommandOutlivesSessionsInWhichNothingRuns(t *testing.T) { // daytonaio/daytona #4520
	t.Parallel()
	s, p := guestlessAt(t, 500*time.Millisecond)
	state := ready(t, p, spec(t))
	s.Idle(1)
	s.Hang(2)
	if got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "echo x; exit 3"}); got.stdout != "x\n" || got.exit.Code != 3 {
		t.Errorf("%+v", got)
	}
	for name, nothing := range map[string]func(int){"ends at once": s.Idle, "never ends": s.Hang} {
		nothing(3)
		if _, err := p.ReadFile(t.Context(), ref(state), "none", 0, 0, ""); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("ReadFile where nothing runs and %s: %v, want unavailable", name, err)
		}
	}
}
