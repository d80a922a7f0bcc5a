package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

func TestRunsOfAServerThatIsStoppedGoOnAndTheNextOneTakesThemUp(t *testing.T) {
	s := localSite(t)
	const script = `for i in 1 2 3; do echo "line $i"; sleep 0.5; done`
	created := s.begin(script)
	stopped, err := embedded.Stop(t.Context(), s.dir)
	if err != nil || !stopped.LiveRuns || stopped.PID != s.found.PID {
		t.Fatalf("Stop = %+v, %v; want the server, with live runs", stopped, err)
	}
	select {
	case <-s.ended:
	case <-time.After(startWait):
		t.Fatal("the server has not ended")
	}
	if _, err := embedded.Find(t.Context(), s.dir); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Find = %v, want not_found", err)
	}
	s.start()
	run := s.awaitRun(created.ID)
	if got := s.log(run).stdout.String(); run.Status != berth.RunSucceeded || strings.Count(got, "line ") != 3 {
		t.Errorf("run %s is %s, %+v; its log is %q", run.ID, run.Status, run.Reason, got)
	}
}
