package berth_test

import (
	"slices"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

var runStatuses = []berth.RunStatus{
	berth.RunSubmitted, berth.RunQueued, berth.RunProvisioning, berth.RunRunning, berth.RunBlocked,
	berth.RunSucceeded, berth.RunFailed, berth.RunCancelled,
}

func TestAnEndedRunNeverMoves(t *testing.T) {
	t.Parallel()
	for _, from := range runStatuses {
		for _, to := range runStatuses {
			if from.Ended() && from.CanBecome(to) {
				t.Errorf("%s can become %s", from, to)
			}
			if from == to && from.CanBecome(to) {
				t.Errorf("staying %s counts as a move", from)
			}
		}
		if !from.Ended() && (!from.CanBecome(berth.RunFailed) || !from.CanBecome(berth.RunCancelled)) {
			t.Errorf("%s cannot fail or be cancelled", from)
		}
	}
}

func TestEveryStatusOfARunCanBeReached(t *testing.T) {
	t.Parallel()
	reached := []berth.RunStatus{berth.RunSubmitted}
	for i := 0; i < len(reached); i++ {
		for _, to := range runStatuses {
			if reached[i].CanBecome(to) && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	if len(reached) != len(runStatuses) {
		t.Errorf("reached %v of %v", reached, runStatuses)
	}
}

func TestOnlySubmittedAndFollowingStatusesRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to berth.RunStatus
		want     bool
	}{
		{berth.RunSubmitted, berth.RunQueued, true},
		{berth.RunSubmitted, berth.RunRunning, false},
		{berth.RunQueued, berth.RunSubmitted, false},
		{berth.RunProvisioning, berth.RunRunning, true},
		{berth.RunRunning, berth.RunBlocked, true},
		{berth.RunBlocked, berth.RunRunning, true},
		{berth.RunProvisioning, berth.RunSucceeded, false},
	} {
		if got := c.from.CanBecome(c.to); got != c.want {
			t.Errorf("%s.CanBecome(%s) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestAStageEndsOnceItIsNotPendingOrRunning(t *testing.T) {
	t.Parallel()
	for status, want := range map[berth.StageStatus]bool{
		berth.StagePending: false, berth.StageRunning: false, berth.StageSucceeded: true,
		berth.StageFailed: true, berth.StageCancelled: true, berth.StageSkipped: true,
	} {
		if got := status.Ended(); got != want {
			t.Errorf("%s.Ended() = %v, want %v", status, got, want)
		}
	}
}

func TestTheStatusOfTheCommandLineKeepsReasonAndCodeApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exit      berth.Exit
		status    int
		succeeded bool
	}{
		{berth.Exit{Code: 0, Reason: berth.ExitExited}, 0, true},
		{berth.Exit{Code: 7, Reason: berth.ExitExited}, 7, false},
		{berth.Exit{Code: 143, Signal: "TERM", Reason: berth.ExitSignalled}, 143, false},
		{berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitTimedOut}, 124, false},
		{berth.Exit{Code: 1, Reason: berth.ExitOutOfMemory}, 137, false},
		{berth.Exit{Code: -1, Reason: berth.ExitCancelled}, 130, false},
		{berth.Exit{Code: -1, Reason: berth.ExitLost}, 125, false},
		{berth.Exit{Code: 0, Reason: berth.ExitLost}, 125, false},
	} {
		if got := c.exit.CLIStatus(); got != c.status {
			t.Errorf("%+v: status %d, want %d", c.exit, got, c.status)
		}
		if got := c.exit.Succeeded(); got != c.succeeded {
			t.Errorf("%+v: succeeded %v, want %v", c.exit, got, c.succeeded)
		}
	}
}
