package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"github.com/berth-dev/berth/shared/runner"
)

// newSweeper makes the function that puts right what died half-way: by the clock,
// and when an execution ended in another way than by itself.
func newSweeper(stack awscdk.Stack, c *config, f *functions) awslambda.Function {
	function := f.make(program{
		kind: kindEvents, name: "sweeper", set: sweeper, timeout: 4 * time.Minute, memoryMiB: middling,
		summary: "Puts right what died half-way",
	})
	target := func() *[]awsevents.IRuleTarget {
		return &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(function, nil)}
	}
	awsevents.NewRule(stack, text("SweepNowAndThen"), &awsevents.RuleProps{
		Description: text("Sweeps now and then"),
		Schedule:    awsevents.Schedule_Rate(lasting(runner.SweepEvery)), Targets: target(),
	})
	awsevents.NewRule(stack, text("SweepAfterFailure"), &awsevents.RuleProps{
		Description: text("Sweeps when an execution ended in another way than by itself"),
		EventPattern: &awsevents.EventPattern{
			Source: texts("aws.states"), DetailType: texts("Step Functions Execution Status Change"),
			Detail: &map[string]any{
				"status":          []string{"FAILED", "ABORTED", "TIMED_OUT"},
				"stateMachineArn": []*string{machineARN(stack, c)},
			},
		},
		Targets: target(),
	})
	return function
}
