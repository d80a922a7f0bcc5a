package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
)

// runnerStack has what drives runs.
type runnerStack struct {
	stack   awscdk.Stack
	tasks   map[string]awslambda.Function // by the name in the state machine
	sweeper awslambda.Function
	machine awsstepfunctions.StateMachine
}

// task is how the function of a task is deployed. Its time is that of its state
// in the machine, but for Follow, which leaves earlier by itself.
type task struct {
	folder    string
	set       permissionSet
	timeout   time.Duration
	memoryMiB int
}

// tasks are those of the state machine, by their names there.
var tasks = map[string]task{
	"Admit":       {"admit", sandboxUser, 30 * time.Second, small},
	"Provision":   {"provision", commandStarter, 120 * time.Second, small},
	"Advance":     {"advance", writer, 30 * time.Second, small},
	"Start":       {"start", stageStarter, 60 * time.Second, small},
	"Follow":      {"follow", follower, 90 * time.Second, middling},
	"AwaitOutput": {"await-output", runCanceller, 30 * time.Second, small},
	"Teardown":    {"teardown", sandboxUser, 120 * time.Second, small},
	"Finish":      {"finish", writer, 30 * time.Second, small},
	"Continue":    {"continue", runStarter, 30 * time.Second, small},
}

// How much memory functions have, in MiB; they get processor in proportion.
const (
	small    = 256
	middling = 512
)

// runnerFunctions are the names of the functions of the runner, by what they are
// for. Names and no references: those of another stack could not change any more.
func (c *config) runnerFunctions() map[string]string {
	names := map[string]string{"Sweeper": c.name(kindEvents + "-sweeper")}
	for name, t := range tasks {
		names[name] = c.name(kindRunner + "-" + t.folder)
	}
	return names
}

func newRunnerStack(app awscdk.App, c *config, data *dataStack) (*runnerStack, error) {
	s := &runnerStack{
		stack: newStack(app, c, "runner", "the state machine and its tasks"),
		tasks: map[string]awslambda.Function{},
	}
	f := newFunctions(s.stack, c, data, "runner")
	for _, name := range slices.Sorted(maps.Keys(tasks)) { // a template that changes by order alone would be deployed anew
		t := tasks[name]
		s.tasks[name] = f.make(program{
			kind: kindRunner, name: t.folder, set: t.set, timeout: t.timeout, memoryMiB: t.memoryMiB,
			summary: "The state machine's task " + name,
		})
	}
	var err error
	if s.machine, err = newMachine(s.stack, c, s.tasks); err != nil {
		return nil, fmt.Errorf("making the state machine: %w", err)
	}
	s.sweeper = newSweeper(s.stack, c, f)
	alarmRunner(s, c, data)
	output(s.stack, "StateMachine", s.machine.StateMachineArn(), "The state machine that drives runs")
	return s, nil
}
