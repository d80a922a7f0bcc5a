package main

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/runner"
)

func TestTheMachineIsBerthsOwnOverItsFunctions(t *testing.T) {
	s := deployed(t)
	p := s.one(t, "AWS::StepFunctions::StateMachine").Properties
	arns := map[string]string{}
	for name := range tasks {
		arns[name] = fmt.Sprintf("{%s.Arn}", pascal(tasks[name].folder))
	}
	want, err := runner.Definition(arns)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), flat(p["DefinitionString"])); diff != "" {
		t.Errorf("the definition (-want +got):\n%s", diff)
	}
	if p["StateMachineName"] != "berth-berth-runs" || p["StateMachineType"] != "STANDARD" || !cmp.Equal(p["TracingConfiguration"], map[string]any{"Enabled": true}) {
		t.Errorf("the machine is %v", p)
	}
	logging := p["LoggingConfiguration"].(map[string]any)
	if logging["Level"] != "ALL" || logging["IncludeExecutionData"] != false {
		t.Errorf("the machine's logging is %v: it tells every event, and no state", logging)
	}
	role := p["RoleArn"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
	calls := map[string]bool{}
	for _, permission := range permissionsIn(s.stacks["runner"].Resources[role]) {
		if permission.action == "lambda:InvokeFunction" {
			calls[permission.resource] = true
		}
	}
	for name, arn := range arns {
		if !calls[arn] {
			t.Errorf("the machine may not call the function of %s", name)
		}
		delete(calls, arn)
	}
	if len(calls) > 0 {
		t.Errorf("the machine may call what is no task of it: %v", calls)
	}
}

func TestTheSweeperIsCalledByTheClockAndByEndedExecutions(t *testing.T) {
	s := deployed(t)
	var schedules, patterns []string
	for id, rule := range s.all("AWS::Events::Rule") {
		if targets := flat(rule.Properties["Targets"]); !regexp.MustCompile(`Sweeper[0-9A-F]{8}","Arn"`).MatchString(targets) || rule.Properties["State"] != "ENABLED" {
			t.Errorf("%s calls %s and is %v", id, targets, rule.Properties["State"])
		}
		if schedule, ok := rule.Properties["ScheduleExpression"].(string); ok {
			schedules = append(schedules, schedule)
			continue
		}
		pattern := rule.Properties["EventPattern"].(map[string]any)
		detail := pattern["detail"].(map[string]any)
		patterns = append(patterns, fmt.Sprint(pattern["source"], pattern["detail-type"], detail["status"],
			short(flat(detail["stateMachineArn"].([]any)[0]))))
	}
	slices.Sort(schedules)
	if diff := cmp.Diff([]string{"rate(5 minutes)"}, schedules); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
	want := "[aws.states] [Step Functions Execution Status Change] [FAILED ABORTED TIMED_OUT]states:stateMachine:berth-berth-runs"
	if diff := cmp.Diff([]string{want}, patterns); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
}
