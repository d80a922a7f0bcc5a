// Package stepfntest deploys state machines to an emulator of AWS that runs
// functions as processes of this machine. Their tasks are played by the test
// itself: each function is a relay that hands its event to the test and its
// answer back.
package stepfntest

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/asl"
)

const (
	// patience bounds the wait for the end of an execution.
	patience = 90 * time.Second
	poll     = 50 * time.Millisecond
	// role is one that an emulator does not look at.
	role = "arn:aws:iam::000000000000:role/test"
)

// Machine is a deployed state machine.
type Machine struct {
	ARN    string
	Client *sfn.Client
}

// Deploy makes a state machine of the definition that define gives for the ARNs
// of the tasks. The emulator of config is to be used by this test alone.
func Deploy(t *testing.T, config aws.Config, define func(arns map[string]string) ([]byte, error), tasks map[string]asl.Task) Machine {
	t.Helper()
	stage := play(t, tasks)
	arns := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		arns[name] = createFunction(t, config, name, stage.URL+"/"+name)
	}
	definition, err := define(arns)
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{Client: sfn.NewFromConfig(config)}
	made, err := m.Client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("machine"), RoleArn: aws.String(role), Definition: aws.String(string(definition)),
	})
	if err != nil {
		t.Fatalf("making the state machine: %v", err)
	}
	m.ARN = aws.ToString(made.StateMachineArn)
	return m
}

// Ended waits for the end of an execution.
func (m Machine) Ended(t *testing.T, id berth.ExecutionID) *sfn.DescribeExecutionOutput {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		x, err := m.Client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: aws.String(m.execution(id))})
		if err != nil {
			t.Fatalf("looking at execution %s: %v", id, err)
		}
		if x.Status != types.ExecutionStatusRunning {
			return x
		}
		if time.Now().After(deadline) {
			t.Fatalf("execution %s has not ended; it went through %v", id, m.Path(t, id))
		}
	}
}

// Path are the states that an execution has entered, in their order.
func (m Machine) Path(t *testing.T, id berth.ExecutionID) []string {
	t.Helper()
	var path []string
	pages := sfn.NewGetExecutionHistoryPaginator(m.Client, &sfn.GetExecutionHistoryInput{ExecutionArn: aws.String(m.execution(id))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatalf("reading the history of execution %s: %v", id, err)
		}
		for _, e := range page.Events {
			if e.StateEnteredEventDetails != nil {
				path = append(path, aws.ToString(e.StateEnteredEventDetails.Name))
			}
		}
	}
	return path
}

func (m Machine) execution(id berth.ExecutionID) string {
	return strings.Replace(m.ARN, ":stateMachine:", ":execution:", 1) + ":" + string(id)
}

// plainCauses replaces in JSON what Step Functions makes of a failed function's
// error, which is more JSON, by its message: causes look like the interpreter's.
func plainCauses(t *testing.T, text string) string {
	t.Helper()
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return text
	}
	cause, _ := object["Cause"].(string)
	var failed struct {
		Message *string `json:"errorMessage"`
	}
	if json.Unmarshal([]byte(cause), &failed) != nil || failed.Message == nil {
		return text
	}
	object["Cause"] = *failed.Message
	plain, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

var quiet = slog.New(slog.DiscardHandler)
