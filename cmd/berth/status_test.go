package main

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestRunEndsWithTheStatusOfItsOutcome(t *testing.T) {
	t.Parallel()
	ended := func(code int, reason berth.ExitReason) *berth.Exit { return &berth.Exit{Code: code, Reason: reason} }
	for name, test := range map[string]struct {
		status berth.RunStatus
		exit   *berth.Exit
		reason string
		want   int
	}{
		"success":                            {berth.RunSucceeded, ended(0, berth.ExitExited), "", 0},
		"the command's own status":           {berth.RunFailed, ended(3, berth.ExitExited), berth.ReasonCommandFailed, 3},
		"a signal":                           {berth.RunFailed, ended(143, berth.ExitSignalled), berth.ReasonCommandFailed, 143},
		"a missing program":                  {berth.RunFailed, ended(127, berth.ExitExited), berth.ReasonCommandFailed, 127},
		"a timeout":                          {berth.RunFailed, ended(-1, berth.ExitTimedOut), berth.ReasonTimedOut, 124},
		"a timeout before the command":       {berth.RunFailed, nil, berth.ReasonTimedOut, 124},
		"out of memory":                      {berth.RunFailed, ended(137, berth.ExitOutOfMemory), berth.ReasonOutOfMemory, 137},
		"out of memory without an exit":      {berth.RunFailed, nil, berth.ReasonOutOfMemory, 137},
		"cancelled":                          {berth.RunCancelled, ended(-1, berth.ExitCancelled), berth.ReasonCancelled, 130},
		"cancelled before the command":       {berth.RunCancelled, nil, berth.ReasonCancelled, 130},
		"lost":                               {berth.RunFailed, ended(-1, berth.ExitLost), berth.ReasonLost, 125},
		"no sandbox":                         {berth.RunFailed, nil, berth.ReasonProvisionFailed, 125},
		"failed though the command did not":  {berth.RunFailed, ended(0, berth.ExitExited), berth.ReasonExecutionFailed, 125},
		"failed without a word":              {berth.RunFailed, nil, "", 125},
		"a code that no shell can have":      {berth.RunFailed, ended(-1, berth.ExitExited), berth.ReasonCommandFailed, 125},
		"a code above what a process can be": {berth.RunFailed, ended(256, berth.ExitExited), berth.ReasonCommandFailed, 125},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := berth.Run{Status: test.status, Exit: test.exit}
			if test.reason != "" {
				run.Reason = &berth.Reason{Code: test.reason}
			}
			if got := statusOfRun(run); got != test.want {
				t.Errorf("statusOfRun(%+v) = %d, want %d", run, got, test.want)
			}
		})
	}
}

func TestEveryErrorCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	for _, row := range berth.Codes {
		t.Run(string(row.Code), func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.refuse = func(string, string) *problem { return problemf(row.Code, "refused") }
			c := newCLI(t, f.URL)
			c.clock = newHurriedClock()
			if r := c.run("env", "rm", "ci"); r.status != row.CLI {
				t.Errorf("berth env rm = %d for %s, want %d; stderr:\n%s", r.status, row.Code, row.CLI, r.stderr)
			}
			if r := c.run("exec", "01k5m3v9x2qf", "--", "true"); r.status != 125 {
				t.Errorf("berth exec = %d for %s, want 125", r.status, row.Code)
			}
		})
	}
}
