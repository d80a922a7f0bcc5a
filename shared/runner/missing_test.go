package runner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestARunThatWasOnlyRecordedIsStartedByTheNextServerAtOnce(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	only := s.record(definition("true"))
	for range 2 { // the second server finds it running
		if err := s.runner.StartMissing(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []berth.ExecutionID{berth.ExecutionID(string(only) + "-1")}
	if diff := cmp.Diff(want, s.fake.started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
}

func TestAnExecutionThatEndedIsNotStartedByTheNextServer(t *testing.T) {
	t.Parallel()
	s := newSweeps(t)
	s.record(definition("true"))
	if err := s.runner.StartMissing(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.fake.becomes(berth.Execution{Status: berth.ExecutionFailed})
	if err := s.runner.StartMissing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.fake.started) != 1 {
		t.Errorf("started %v: the sweeper decides on those that failed", s.fake.started)
	}
}
