package orchestratetest

import "github.com/berth-dev/berth/shared/berth"

// Cases are all machines of the suite.
func Cases() []Case {
	var all []Case
	for _, part := range [][]Case{dataCases(), choiceCases(), failureCases(), tokenCases()} {
		all = append(all, part...)
	}
	return all
}

func dataCases() []Case {
	return []Case{
		{
			Name: "a task works on its parameters and its result replaces the data",
			Definition: `{"StartAt":"Work","States":{"Work":{"Type":"Task","Resource":"${Work}","End":true,
				"Parameters":{"who.$":"$.run.id","execution.$":"$$.Execution.Name","state.$":"$$.State.Name","fixed":{"n":1,"list":[true,{"deep.$":"$.run"}]}}}}}`,
			Input: `{"run":{"id":"r1"},"other":2}`,
			Tasks: map[string][]Reply{"Work": {{Output: `{"done":true}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work"}, Output: `{"done":true}`,
				Inputs: map[string][]string{"Work": {`{"who":"r1","execution":"the-execution","state":"Work","fixed":{"n":1,"list":[true,{"deep":{"id":"r1"}}]}}`}},
			},
		},
		{
			Name: "a result is selected, put in its place and cut out",
			Definition: `{"StartAt":"Work","States":{"Work":{"Type":"Task","Resource":"${Work}","End":true,
				"InputPath":"$.in","ResultSelector":{"kept.$":"$.a"},"ResultPath":"$.out.work","OutputPath":"$.out"}}}`,
			Input: `{"in":{"x":1},"keep":"this"}`,
			Tasks: map[string][]Reply{"Work": {{Output: `{"a":[1,2],"b":"dropped"}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work"}, Output: `{"work":{"kept":[1,2]}}`,
				Inputs: map[string][]string{"Work": {`{"x":1}`}},
			},
		},
		{
			Name: "a null ResultPath throws the result away",
			Definition: `{"StartAt":"Work","States":{
				"Work":{"Type":"Task","Resource":"${Work}","ResultPath":null,"Next":"Mark"},
				"Mark":{"Type":"Pass","Result":{"seen":true},"ResultPath":"$.mark","Next":"Done"},
				"Done":{"Type":"Succeed"}}}`,
			Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Output: `{"lost":true}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work", "Mark", "Done"}, Output: `{"a":1,"mark":{"seen":true}}`,
				Inputs: map[string][]string{"Work": {`{"a":1}`}},
			},
		},
		{
			Name: "waits last as long as the data or the machine says",
			Definition: `{"StartAt":"Short","States":{
				"Short":{"Type":"Wait","Seconds":1,"Next":"Named"},
				"Named":{"Type":"Wait","SecondsPath":"$.wait","Next":"Done"},
				"Done":{"Type":"Pass","End":true}}}`,
			Input: `{"wait":1}`,
			Want:  Result{Status: berth.ExecutionSucceeded, Path: []string{"Short", "Named", "Done"}, Output: `{"wait":1}`},
		},
	}
}

// loop asks a task until it says that it is done.
const loop = `{"StartAt":"Ask","States":{
	"Ask":{"Type":"Task","Resource":"${Ask}","Next":"Decide"},
	"Decide":{"Type":"Choice","Default":"Ask","Choices":[
		{"Variable":"$.next","StringEquals":"done","Next":"Done"},
		{"And":[{"Variable":"$.count","NumericGreaterThanEquals":3},{"Not":{"Variable":"$.patient","BooleanEquals":true}}],"Next":"TooMany"}]},
	"TooMany":{"Type":"Fail","Error":"Loop.TooLong","Cause":"asked three times"},
	"Done":{"Type":"Succeed"}}}`

func choiceCases() []Case {
	return []Case{
		{
			Name: "a choice loops until the data says otherwise", Definition: loop, Input: `{}`,
			Tasks: map[string][]Reply{"Ask": {
				{Output: `{"next":"more","count":1,"patient":false}`},
				{Output: `{"next":"more","count":3,"patient":true}`},
				{Output: `{"next":"done"}`},
			}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Ask", "Decide", "Ask", "Decide", "Ask", "Decide", "Done"}, Output: `{"next":"done"}`,
				Inputs: map[string][]string{"Ask": {`{}`, `{"next":"more","count":1,"patient":false}`, `{"next":"more","count":3,"patient":true}`}},
			},
		},
		{
			Name: "a Fail state ends the execution with its error", Definition: loop, Input: `{}`,
			Tasks: map[string][]Reply{"Ask": {{Output: `{"next":"more","count":3,"patient":false}`}}},
			Want: Result{
				Status: berth.ExecutionFailed, Path: []string{"Ask", "Decide", "TooMany"}, Error: "Loop.TooLong", Cause: "asked three times",
				Inputs: map[string][]string{"Ask": {`{}`}},
			},
		},
		{
			Name: "presence is asked without needing the value, and another type never equals",
			Definition: `{"StartAt":"Decide","States":{
				"Decide":{"Type":"Choice","Default":"Other","Choices":[
					{"Variable":"$.missing","IsPresent":true,"Next":"Wrong"},
					{"Variable":"$.text","NumericEquals":5,"Next":"Wrong"},
					{"Or":[{"Variable":"$.number","StringEquals":"5"},{"Variable":"$.text","StringEquals":"six"}],"Next":"Wrong"},
					{"Or":[{"Variable":"$.number","NumericEquals":4},{"Variable":"$.text","IsPresent":true}],"Next":"Right"}]},
				"Right":{"Type":"Succeed"},"Wrong":{"Type":"Fail","Error":"Wrong"},"Other":{"Type":"Fail","Error":"Other"}}}`,
			Input: `{"text":"5","number":5}`,
			Want:  Result{Status: berth.ExecutionSucceeded, Path: []string{"Decide", "Right"}, Output: `{"text":"5","number":5}`},
		},
	}
}

const caught = `{"StartAt":"Work","States":{
	"Work":{"Type":"Task","Resource":"${Work}","TimeoutSeconds":2,"Next":"Done",
		"Retry":[{"ErrorEquals":["Busy"],"IntervalSeconds":1,"MaxAttempts":2,"BackoffRate":1}],
		"Catch":[
			{"ErrorEquals":["Broken"],"ResultPath":"$.failure","Next":"Repair"},
			{"ErrorEquals":["States.Timeout"],"ResultPath":null,"Next":"Late"},
			{"ErrorEquals":["States.TaskFailed"],"Next":"Other"}]},
	"Repair":{"Type":"Task","Resource":"${Repair}","End":true},
	"Late":{"Type":"Pass","End":true},
	"Other":{"Type":"Pass","End":true},
	"Done":{"Type":"Succeed"}}}`

func failureCases() []Case {
	return []Case{
		{
			Name: "a failure that is retried is not seen", Definition: caught, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Error: "Busy", Cause: "one"}, {Error: "Busy", Cause: "two"}, {Output: `{"ok":true}`}}, "Repair": {{Output: `{}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work", "Done"}, Output: `{"ok":true}`,
				Inputs: map[string][]string{"Work": {`{"a":1}`, `{"a":1}`, `{"a":1}`}},
			},
		},
		{
			Name: "a failure outlasts its retries and is caught by its kind", Definition: caught, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Error: "Busy", Cause: "always"}}, "Repair": {{Output: `{}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work", "Other"}, Output: `{"Error":"Busy","Cause":"always"}`,
				Inputs: map[string][]string{"Work": {`{"a":1}`, `{"a":1}`, `{"a":1}`}},
			},
		},
		{
			Name: "a named failure is put beside the data", Definition: caught, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Error: "Broken", Cause: "a leg"}}, "Repair": {{Output: `{"repaired":true}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work", "Repair"}, Output: `{"repaired":true}`,
				Inputs: map[string][]string{"Work": {`{"a":1}`}, "Repair": {`{"a":1,"failure":{"Error":"Broken","Cause":"a leg"}}`}},
			},
		},
		{
			Name: "a task that hangs is timed out", Definition: caught, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Hang: true}}, "Repair": {{Output: `{}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Work", "Late"}, Output: `{"a":1}`,
				Inputs: map[string][]string{"Work": {`{"a":1}`}},
			},
		},
		{
			Name: "what nothing catches fails the execution", Definition: caught, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Work": {{Error: "Broken", Cause: "a leg"}}, "Repair": {{Error: "Hopeless", Cause: "no spare leg"}}},
			Want: Result{
				Status: berth.ExecutionFailed, Path: []string{"Work", "Repair"}, Error: "Hopeless", Cause: "no spare leg",
				Inputs: map[string][]string{"Work": {`{"a":1}`}, "Repair": {`{"a":1,"failure":{"Error":"Broken","Cause":"a leg"}}`}},
			},
		},
	}
}

const waiting = `{"StartAt":"Await","States":{
	"Await":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken","TimeoutSeconds":3,"ResultPath":"$.answer","Next":"Done",
		"Parameters":{"FunctionName":"${Await}","Payload":{"state.$":"$","token.$":"$$.Task.Token"}},
		"Retry":[{"ErrorEquals":["Busy"],"IntervalSeconds":1,"MaxAttempts":1,"BackoffRate":1}],
		"Catch":[{"ErrorEquals":["States.Timeout","States.HeartbeatTimeout"],"ResultPath":null,"Next":"Late"}]},
	"Late":{"Type":"Pass","End":true},
	"Done":{"Type":"Succeed"}}}`

func tokenCases() []Case {
	return []Case{
		{
			Name: "a task is done when its token is answered", Definition: waiting, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Await": {{Output: `{"own":"ignored"}`, Answer: `{"woken":true}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Await", "Done"}, Output: `{"a":1,"answer":{"woken":true}}`,
				Inputs: map[string][]string{"Await": {`{"state":{"a":1},"token":"TOKEN"}`}},
			},
		},
		{
			Name: "a token that nobody answers times out", Definition: waiting, Input: `{"a":1}`,
			Tasks: map[string][]Reply{"Await": {{Output: `{}`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Await", "Late"}, Output: `{"a":1}`,
				Inputs: map[string][]string{"Await": {`{"state":{"a":1},"token":"TOKEN"}`}},
			},
		},
		{
			Name: "a task that fails before it waits is called again with a token of its own", Definition: waiting, Input: `{"a":1}`,
			Needs: []Feature{FailureBeforeToken},
			Tasks: map[string][]Reply{"Await": {{Error: "Busy", Cause: "once"}, {Output: `{}`, Answer: `"woken"`}}},
			Want: Result{
				Status: berth.ExecutionSucceeded, Path: []string{"Await", "Done"}, Output: `{"a":1,"answer":"woken"}`,
				Inputs: map[string][]string{"Await": {`{"state":{"a":1},"token":"TOKEN"}`, `{"state":{"a":1},"token":"TOKEN"}`}},
			},
		},
	}
}
