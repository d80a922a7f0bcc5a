package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// roles are those of a stack's functions, one a permission set.
type roles struct {
	stack  awscdk.Stack
	config *config
	data   *dataStack
	logs   awslogs.LogGroup
	made   map[permissionSet]awsiam.Role
}

// of returns the role of a set.
func (r *roles) of(set permissionSet) awsiam.IRole {
	role, ok := r.made[set]
	if !ok {
		role = r.make(set)
		r.made[set] = role
	}
	// The CDK would add statements of its own for what is here already.
	return role.WithoutPolicyUpdates(nil)
}

func (r *roles) make(set permissionSet) awsiam.Role {
	all := statements(r.stack, r.config, r.data, set)
	add := func(resource *string, actions ...string) {
		all = append(all, awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: texts(actions...), Resources: &[]*string{resource},
		}))
	}
	add(r.logs.LogGroupArn(), "logs:CreateLogStream", "logs:PutLogEvents")
	add(text("*"), "xray:PutTelemetryRecords", "xray:PutTraceSegments")
	if r.config.inSubnets(set) {
		add(text("*"), "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses")
	}
	role := awsiam.NewRole(r.stack, text(string(set)+"Role"), &awsiam.RoleProps{
		AssumedBy:   awsiam.NewServicePrincipal(text("lambda.amazonaws.com"), nil),
		Description: text("berth, functions of the kind " + string(set)),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"berth": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &all}),
		},
	})
	accept(role, "AwsSolutions-IAM5", "X-Ray, and Lambda's network interfaces where it has any, know no resources; "+
		"objects, log streams, executions and secrets are named by what their names begin with, for they are made while berth runs.")
	return role
}

// inSubnets reports whether functions of the set sit in the given subnets.
func (c *config) inSubnets(set permissionSet) bool { return c.vpc != "" && set.has(reachHosts) }
