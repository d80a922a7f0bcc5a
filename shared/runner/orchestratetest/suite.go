// Package orchestratetest is the contract suite of what drives state machines:
// the same machine with the same inputs goes through the same states and ends
// with the same result on the interpreter and on Step Functions.
package orchestratetest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// Reply is what a task does when it is called once. It is data, so that a
// function far away can play it too.
type Reply struct {
	// Output is the result, JSON.
	Output string
	// Error and Cause are its failure, when Error is set.
	Error, Cause string
	// Hang lets the call outlast every timeout of the machine.
	Hang bool
	// Answer is given to the token that the input has at `token`, JSON; then the
	// task itself returns Output.
	Answer string
}

// Feature is what a case needs and not every emulator of Step Functions has, in
// words that go behind "it lacks".
type Feature string

// FailureBeforeToken is that a function which fails before its task token is
// answered fails the task at once, so that Retry and Catch see its error.
const FailureBeforeToken Feature = "failures of functions that wait for a task token"

// Case is one machine with the behaviour of its tasks and what comes of it.
type Case struct {
	Name string
	// Needs are features that what drives the machine must have.
	Needs []Feature
	// Definition has the tasks as ${NAME} where their ARN belongs.
	Definition string
	Input      string
	// Tasks has the replies of each task by its name, one a call; the last one
	// is repeated. Inputs are recorded.
	Tasks map[string][]Reply
	Want  Result
}

// Result is what can be seen of an ended execution.
type Result struct {
	Status berth.ExecutionStatus
	// Path are the states in the order in which they were entered.
	Path   []string
	Output string // JSON, of one that SUCCEEDED
	Error  string // name, of one that FAILED
	Cause  string
	// Inputs are those of every call, by task. Task tokens are replaced by "TOKEN".
	Inputs map[string][]string
}

// Execute runs a case to its end under the execution name "the-execution".
type Execute func(t *testing.T, c Case) Result

// Run runs every case.
func Run(t *testing.T, execute Execute) { RunWithout(t, nil, execute) }

// RunWithout is Run on an emulator that lacks features: what needs one of them is
// left out, and the log says so.
func RunWithout(t *testing.T, lacks []Feature, execute Execute) {
	for _, c := range Cases() {
		if missing := slices.IndexFunc(c.Needs, func(f Feature) bool { return slices.Contains(lacks, f) }); missing >= 0 {
			// Said where the report of all tests finds it, and no skip: nothing
			// that is asked of this emulator is left out.
			t.Logf("left out: %s: this emulator lacks %s", c.Name, c.Needs[missing])
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got, want := normal(t, execute(t, c)), normal(t, c.Want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// normal gives equal JSON equal text.
func normal(t *testing.T, r Result) Result {
	t.Helper()
	r.Output = sorted(t, r.Output)
	inputs := map[string][]string{}
	for task, calls := range r.Inputs {
		for _, input := range calls {
			inputs[task] = append(inputs[task], sorted(t, input))
		}
	}
	r.Inputs = inputs
	return r
}

func sorted(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is no JSON: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
