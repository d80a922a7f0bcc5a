package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
)

func TestTheStateMachineIsInTheSubset(t *testing.T) {
	t.Parallel()
	text, err := runner.Definition(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range m.States {
		if st.Comment == "" {
			t.Errorf("state %s says nothing to people", name)
		}
		if st.Type != "Task" {
			continue
		}
		if st.TimeoutSeconds == 0 || len(st.Retry) != 1 {
			t.Errorf("task %s has timeout %d and %d retriers", name, st.TimeoutSeconds, len(st.Retry))
		}
		retriesTimeouts := strings.Contains(strings.Join(st.Retry[0].ErrorEquals, " "), "States.Timeout")
		if retriesTimeouts == (name == "AwaitOutput") {
			t.Errorf("task %s retries timeouts: %v", name, retriesTimeouts)
		}
		var caught []string
		for _, c := range st.Catch {
			caught = append(caught, strings.Join(c.ErrorEquals, "+")+" "+c.Next)
		}
		want := map[string][]string{
			"AwaitOutput": {"States.Timeout+States.HeartbeatTimeout Follow", "States.ALL Teardown"},
			"Teardown":    {"States.ALL Finish"}, "Finish": nil, "Continue": nil,
		}
		expected, special := want[name]
		if !special {
			expected = []string{"States.ALL Teardown"}
		}
		if diff := cmp.Diff(expected, caught); diff != "" {
			t.Errorf("what %s catches (-want +got):\n%s", name, diff)
		}
	}
}

func TestArnsArePutInTheirPlaces(t *testing.T) {
	t.Parallel()
	text, err := runner.Definition(map[string]string{"Admit": "arn:aws:lambda:eu-west-1:1:function:admit", "AwaitOutput": "arn:await"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.States["Admit"].Resource; got != "arn:aws:lambda:eu-west-1:1:function:admit" {
		t.Errorf("Admit has resource %q", got)
	}
	if got := m.States["AwaitOutput"].Parameters.(map[string]any)["FunctionName"]; got != "arn:await" {
		t.Errorf("AwaitOutput calls %q", got)
	}
	if _, err := runner.Definition(map[string]string{"Land": "arn:x"}); err == nil {
		t.Error("an ARN for a task that there is not is taken")
	}
}

func TestErrorsHaveTheNamesThatTheMachineRetries(t *testing.T) {
	t.Parallel()
	for code, want := range map[berth.Code]string{
		berth.CodeUnavailable: "Berth.Unavailable", berth.CodeTimedOut: "Berth.TimedOut",
		berth.CodeRateLimited: "Berth.RateLimited", berth.CodeInternal: "Berth.Internal",
	} {
		if got := runner.ErrorName(berth.Errorf(code, "x")); got != want {
			t.Errorf("ErrorName(%s) = %s, want %s", code, got, want)
		}
	}
}

func TestAPlanNamesTheStagesByTheirPosition(t *testing.T) {
	t.Parallel()
	def := definition("true")
	def.Target = berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/x.git"}
	def.Clone.Enabled = true
	def.Prepare = make([]berth.Step, 10)
	stages := runner.Plan(def)
	for i, s := range stages {
		if i > 0 && s.ID <= stages[i-1].ID {
			t.Errorf("%s does not sort behind %s", s.ID, stages[i-1].ID)
		}
		if s.Command != berth.CommandID("stage-"+string(s.ID)) {
			t.Errorf("the command of %s is %s", s.ID, s.Command)
		}
	}
	if stages[0].ID != "01-clone" || stages[1].ID != "02-prepare" || stages[11].ID != "12-command" {
		t.Errorf("stages are %s, %s … %s", stages[0].ID, stages[1].ID, stages[11].ID)
	}
	def.Clone.Enabled = false
	if first := runner.Plan(def)[0]; first.Kind != berth.StagePrepare {
		t.Errorf("without cloning the first stage is %s", first.ID)
	}
}
