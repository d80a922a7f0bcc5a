package asl_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/orchestratetest"
)

// machine is one task state with more fields, and a second state to go to.
func machine(fields string) string {
	return `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"a","Next":"B"` + fields + `},"B":{"Type":"Succeed"}}}`
}

func TestTheSubsetIsTheWholeOfWhatIsAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ definition, want string }{
		"no JSON":                               {`{`, "JSON"},
		"a start that is nowhere":               {`{"StartAt":"X","States":{"A":{"Type":"Succeed"}}}`, "StartAt: names no state"},
		"a state of another type":               {`{"StartAt":"A","States":{"A":{"Type":"Parallel","Branches":[],"End":true}}}`, "States.A.Type"},
		"a map state":                           {`{"StartAt":"A","States":{"A":{"Type":"Map","End":true}}}`, "States.A.Type"},
		"JSONata":                               {machine(`,"QueryLanguage":"JSONata"`), "States.A.QueryLanguage"},
		"assigned variables":                    {machine(`,"Assign":{}`), "States.A.Assign"},
		"a timeout of the whole machine":        {`{"StartAt":"A","TimeoutSeconds":3,"States":{"A":{"Type":"Succeed"}}}`, "TimeoutSeconds"},
		"a repeated state":                      {`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"A":{"Type":"Fail"}}}`, "States.A"},
		"a field of another type of state":      {`{"StartAt":"A","States":{"A":{"Type":"Succeed","Next":"A"}}}`, "States.A.Next"},
		"a next state that is nowhere":          {machine(`,"Catch":[{"ErrorEquals":["X"],"Next":"C"}]`), "Catch[0].Next: names no state"},
		"a state that nothing reaches":          {`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"B":{"Type":"Succeed"}}}`, "States.B: is reached from nowhere"},
		"a task without next and end":           {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"a"}}}`, "one of Next and End"},
		"a task with next and end":              {machine(`,"End":true`), "one of Next and End"},
		"a task without a resource":             {`{"StartAt":"A","States":{"A":{"Type":"Task","End":true}}}`, "needs a Resource"},
		"a substitution that was not made":      {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"${A}","End":true}}}`, "substitution"},
		"another integration":                   {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","End":true}}}`, "States.A.Resource"},
		"an index in a path":                    {machine(`,"InputPath":"$.a[0]"`), "States.A.InputPath"},
		"a null path":                           {machine(`,"InputPath":null`), "States.A.InputPath"},
		"a filter in a parameter":               {machine(`,"Parameters":{"a":{"b.$":"$..c"}}`), "Parameters.a"},
		"an intrinsic function":                 {machine(`,"Parameters":{"a.$":"States.UUID()"}`), "Parameters"},
		"another part of the context object":    {machine(`,"Parameters":{"a.$":"$$.Execution.StartTime"}`), "$$.Execution.Name"},
		"a token without a wait for it":         {machine(`,"Parameters":{"a.$":"$$.Task.Token"}`), "task token"},
		"an error name that does not exist":     {machine(`,"Retry":[{"ErrorEquals":["States.Oops"]}]`), "States.Oops"},
		"States.ALL beside another":             {machine(`,"Retry":[{"ErrorEquals":["States.ALL","X"]}]`), "alone and last"},
		"States.ALL before another":             {machine(`,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"B"},{"ErrorEquals":["X"],"Next":"B"}]`), "alone and last"},
		"a retry without an interval":           {machine(`,"Retry":[{"ErrorEquals":["X"],"IntervalSeconds":0}]`), "Retry[0]"},
		"a retry that shrinks":                  {machine(`,"Retry":[{"ErrorEquals":["X"],"BackoffRate":0.5}]`), "Retry[0]"},
		"another jitter":                        {machine(`,"Retry":[{"ErrorEquals":["X"],"JitterStrategy":"SOME"}]`), "JitterStrategy"},
		"a heartbeat that outlasts the timeout": {machine(`,"TimeoutSeconds":5,"HeartbeatSeconds":5`), "HeartbeatSeconds"},
		"a timeout by path":                     {machine(`,"TimeoutSecondsPath":"$.t"`), "TimeoutSecondsPath"},
		"a choice without a default":            {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$.a","IsPresent":true,"Next":"B"}]},"B":{"Type":"Succeed"}}}`, "needs a Default"},
		"a choice without choices":              {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[],"Default":"B"},"B":{"Type":"Succeed"}}}`, "at least one choice"},
		"another operator":                      {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$.a","StringMatches":"*","Next":"B"}],"Default":"B"},"B":{"Type":"Succeed"}}}`, "StringMatches"},
		"two operators in one rule":             {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$.a","StringEquals":"x","IsPresent":true,"Next":"B"}],"Default":"B"},"B":{"Type":"Succeed"}}}`, "exactly one operator"},
		"a next state inside a combination":     {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"And":[{"Variable":"$.a","IsPresent":true,"Next":"B"}],"Next":"B"}],"Default":"B"},"B":{"Type":"Succeed"}}}`, "outermost"},
		"a wait of two lengths":                 {`{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":1,"SecondsPath":"$.a","End":true}}}`, "one of Seconds"},
		"a wait until a date":                   {`{"StartAt":"A","States":{"A":{"Type":"Wait","Timestamp":"2030-01-01T00:00:00Z","End":true}}}`, "Timestamp"},
		"a machine without an end":              {`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`, "no end"},
		"a token that is not passed on":         {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"` + asl.WaitForTaskToken + `","Parameters":{"FunctionName":"a","Payload":{}},"End":true}}}`, "nobody could answer"},
		"an invocation with more than its pair": {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"` + asl.WaitForTaskToken + `","Parameters":{"FunctionName":"a","Payload":{"t.$":"$$.Task.Token"},"Qualifier":"1"},"End":true}}}`, "nothing else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := asl.Parse([]byte(c.definition))
			if code := berth.CodeOf(err); code != berth.CodeInvalid && code != berth.CodeMalformed {
				t.Fatalf("Parse() = %v, want a refusal", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse() = %v, want it to name %q", err, c.want)
			}
		})
	}
}

func TestEveryMachineOfTheContractIsInTheSubset(t *testing.T) {
	t.Parallel()
	for _, c := range orchestratetest.Cases() {
		definition := c.Definition
		for task := range c.Tasks {
			definition = strings.ReplaceAll(definition, "${"+task+"}", task)
		}
		if _, err := asl.Parse([]byte(definition)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
