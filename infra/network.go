package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
)

// newSecurityGroup is that of functions in the given subnets, for hosts to admit
// by its id; nil where functions have AWS's own network. Nothing comes in.
func newSecurityGroup(stack awscdk.Stack, c *config) awsec2.CfnSecurityGroup {
	if c.vpc == "" {
		return nil
	}
	group := awsec2.NewCfnSecurityGroup(stack, text("FunctionsSecurityGroup"), &awsec2.CfnSecurityGroupProps{
		VpcId: text(c.vpc), GroupDescription: text("berth, functions that reach hosts and providers"),
		SecurityGroupEgress: &[]any{&awsec2.CfnSecurityGroup_EgressProperty{
			IpProtocol: text("-1"), CidrIp: text("0.0.0.0/0"), Description: text("hosts, providers and AWS"),
		}},
	})
	output(stack, "SecurityGroup", group.AttrGroupId(), "The group of functions that reach hosts: let it in where hosts listen")
	return group
}
