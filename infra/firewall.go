package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
)

// requestsPerAddress is the most requests of one address in five minutes; many
// hosts behind one address of a network have to fit.
const requestsPerAddress = 20_000

// newFirewall puts a web ACL in front of the API, if there is to be one: the given
// one, or one that turns away known bad addresses and floods. No rule looks into
// bodies: those are people's commands and files.
func newFirewall(stack awscdk.Stack, c *config, api awsapigateway.RestApi) {
	if c.firewall == "" {
		return
	}
	acl := text(c.firewall)
	if c.firewall == firewallNew {
		acl = newWebACL(stack, c).AttrArn()
	}
	association := awswafv2.NewCfnWebACLAssociation(stack, text("FirewallAssociation"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: api.DeploymentStage().StageArn(), WebAclArn: acl,
	})
	association.Node().AddDependency(api.DeploymentStage())
}

func newWebACL(stack awscdk.Stack, c *config) awswafv2.CfnWebACL {
	none := map[string]any{}
	return awswafv2.NewCfnWebACL(stack, text("Firewall"), &awswafv2.CfnWebACLProps{
		Name: text(c.name("api")), Scope: text("REGIONAL"),
		DefaultAction:    &awswafv2.CfnWebACL_DefaultActionProperty{Allow: none},
		VisibilityConfig: visible(c.name("api")),
		Rules: &[]any{
			&awswafv2.CfnWebACL_RuleProperty{
				Name: text("bad-addresses"), Priority: number(0), VisibilityConfig: visible(c.name("bad-addresses")),
				OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: none},
				Statement: &awswafv2.CfnWebACL_StatementProperty{ManagedRuleGroupStatement: &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{
					VendorName: text("AWS"), Name: text("AWSManagedRulesAmazonIpReputationList"),
				}},
			},
			&awswafv2.CfnWebACL_RuleProperty{
				Name: text("floods"), Priority: number(1), VisibilityConfig: visible(c.name("floods")),
				Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: none},
				Statement: &awswafv2.CfnWebACL_StatementProperty{RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
					AggregateKeyType: text("IP"), Limit: number(requestsPerAddress),
				}},
			},
		},
	})
}

func visible(name string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
	return &awswafv2.CfnWebACL_VisibilityConfigProperty{
		MetricName: text(name), CloudWatchMetricsEnabled: yes(), SampledRequestsEnabled: no(),
	}
}
