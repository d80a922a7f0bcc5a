package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"

	"github.com/berth-dev/berth/shared/runner"
)

// newMachine makes the state machine of berth's own definition over the functions
// of its tasks.
func newMachine(stack awscdk.Stack, c *config, tasks map[string]awslambda.Function) (awsstepfunctions.StateMachine, error) {
	arns := map[string]string{}
	for name, function := range tasks {
		arns[name] = *function.FunctionArn()
	}
	definition, err := runner.Definition(arns)
	if err != nil {
		return nil, err
	}
	return awsstepfunctions.NewStateMachine(stack, text("Machine"), &awsstepfunctions.StateMachineProps{
		StateMachineName: text(c.machineName()),
		StateMachineType: awsstepfunctions.StateMachineType_STANDARD,
		DefinitionBody:   awsstepfunctions.DefinitionBody_FromString(text(string(definition))),
		Role:             newMachineRole(stack, tasks).WithoutPolicyUpdates(nil),
		TracingEnabled:   yes(),
		Logs: &awsstepfunctions.LogOptions{
			// Groups of that name share one policy of the account, which has a limit.
			Destination: newLogGroup(stack, "MachineLogs", "/aws/vendedlogs/states/"+c.machineName()),
			Level:       awsstepfunctions.LogLevel_ALL, IncludeExecutionData: no(),
		},
	}), nil
}

func newMachineRole(stack awscdk.Stack, tasks map[string]awslambda.Function) awsiam.Role {
	var functions []*string
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		functions = append(functions, tasks[name].FunctionArn())
	}
	role := awsiam.NewRole(stack, text("MachineRole"), &awsiam.RoleProps{
		AssumedBy:   awsiam.NewServicePrincipal(text("states.amazonaws.com"), nil),
		Description: text("berth, the state machine"),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"berth": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{
			Statements: &[]awsiam.PolicyStatement{
				awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: texts("lambda:InvokeFunction"), Resources: &functions}),
				awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
					Actions: texts("xray:GetSamplingRules", "xray:GetSamplingTargets", "xray:PutTelemetryRecords", "xray:PutTraceSegments",
						"logs:CreateLogDelivery", "logs:DeleteLogDelivery", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies",
						"logs:GetLogDelivery", "logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:UpdateLogDelivery"),
					Resources: texts("*"),
				}),
			},
		})},
	})
	accept(role, "AwsSolutions-IAM5", "X-Ray and the delivery of logs know no resources.", "Resource::*")
	return role
}
