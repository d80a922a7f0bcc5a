package main

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func TestWhetherASandboxIsKeptIsSaidBeforeItsRunEnds(t *testing.T) {
	t.Parallel()
	a := newCLI(t, "").app(nil, nil)
	a.clock = newHurriedClock()
	until := a.clock.Now().Add(time.Hour + time.Minute)
	for name, tt := range map[string]struct {
		sandbox berth.Sandbox
		want    string
	}{
		"that is to be kept":                    {berth.Sandbox{Status: berth.SandboxReady, KeptAfterRun: true}, "once its run ends"},
		"that is made, and to be kept":          {berth.Sandbox{Status: berth.SandboxCreating, KeptAfterRun: true}, "once its run ends"},
		"that is not to be kept":                {berth.Sandbox{Status: berth.SandboxReady}, "no"},
		"that is kept":                          {berth.Sandbox{Status: berth.SandboxStopped, KeptAfterRun: true, Preserved: true}, "yes"},
		"that is kept for a time":               {berth.Sandbox{Status: berth.SandboxReady, KeptAfterRun: true, KeepUntil: &until}, "for 1h"},
		"that was to be kept, and is destroyed": {berth.Sandbox{Status: berth.SandboxDestroyed, KeptAfterRun: true}, "no"},
	} {
		if got := a.keptText(tt.sandbox); len(got) < len(tt.want) || got[:len(tt.want)] != tt.want {
			t.Errorf("a sandbox %s is kept %q, want %q", name, got, tt.want)
		}
	}
}
