package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

func TestRunsOfAServerThatIsStoppedGoOnAndTheNextOneTakesThemUp(t *testing.T) {
	s := localSite(t)
	open := filepath.Join(t.TempDir(), "open") // it goes on once this is there, or for a minute
	created := s.begin(`echo "line 1"; i=0; until [ -e '` + open + `' ] || [ $i -ge 600 ]; do i=$((i+1)); sleep 0.1; done; echo "line 2"`)
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
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := s.awaitRun(created.ID)
	if got := s.log(run).stdout.String(); run.Status != berth.RunSucceeded || strings.Count(got, "line ") != 2 {
		t.Errorf("run %s is %s, %+v; its log is %q", run.ID, run.Status, run.Reason, got)
	}
}
