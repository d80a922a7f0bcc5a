package main

import (
	"path"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// grant is one thing that a function may do.
type grant int

const (
	readTable grant = iota
	writeTable
	readOutput
	writeOutput
	removeOutput
	readTransfers
	writeTransfers
	removeTransfers
	readUserSecrets
	writeUserSecrets
	// readProviderSecrets is for what hosts and providers let the server in with.
	readProviderSecrets
	writeHostSecrets
	// readAppSecret is for the key of the GitHub App.
	readAppSecret
	startExecutions
	describeExecutions
	answerTasks
	// reachHosts needs no right: it is for functions that open connections to host
	// agents and providers, which sit in the given subnets if there are any.
	reachHosts
)

// actions are what IAM calls a grant.
var actions = map[grant][]string{
	readTable: {"dynamodb:GetItem", "dynamodb:Query"},
	// A transaction asks for the rights of its parts.
	writeTable:      {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem"},
	readOutput:      {"s3:GetObject"},
	writeOutput:     {"s3:AbortMultipartUpload", "s3:PutObject"},
	removeOutput:    {"s3:DeleteObject"},
	readTransfers:   {"s3:GetObject"},
	writeTransfers:  {"s3:AbortMultipartUpload", "s3:PutObject"},
	removeTransfers: {"s3:DeleteObject"},

	readUserSecrets:     {"secretsmanager:GetSecretValue"},
	readProviderSecrets: {"secretsmanager:GetSecretValue"},
	readAppSecret:       {"secretsmanager:GetSecretValue"},
	writeUserSecrets:    writeSecrets,
	writeHostSecrets:    writeSecrets,

	startExecutions:    {"states:StartExecution"},
	describeExecutions: {"states:DescribeExecution"},
	answerTasks:        {"states:SendTaskSuccess"},
}

var writeSecrets = []string{
	"secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "secretsmanager:PutSecretValue",
	"secretsmanager:RestoreSecret", "secretsmanager:TagResource",
}

// useKey is for whoever uses the table or the bucket under a customer's key.
var useKey = []string{
	"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo",
}

// statements are a set's rights in IAM's words, for functions of a stack.
func statements(stack awscdk.Stack, c *config, data *dataStack, set permissionSet) []awsiam.PolicyStatement {
	var out []awsiam.PolicyStatement
	add := func(actions []string, resources ...*string) {
		out = append(out, awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: texts(actions...), Resources: &resources}))
	}
	for _, g := range sets[set] {
		if actions[g] != nil {
			add(actions[g], resources(stack, c, data, g)...)
		}
	}
	if set.has(readOutput, removeOutput, readTransfers, removeTransfers) { // without it a blob that is not there is "access denied"
		add([]string{"s3:ListBucket"}, data.bucket.BucketArn())
	}
	if data.key != nil && len(sets[set]) > 0 {
		add(useKey, data.key.KeyArn())
	}
	return out
}

func resources(stack awscdk.Stack, c *config, data *dataStack, g grant) []*string {
	switch g {
	case readTable:
		all := []*string{data.table.TableArn()}
		for _, index := range dynamo.Layout().Indexes {
			all = append(all, text(*data.table.TableArn()+"/index/"+index.Name))
		}
		return all
	case writeTable:
		return []*string{data.table.TableArn()}
	case readOutput, writeOutput, removeOutput:
		return []*string{data.bucket.ArnForObjects(text(outputPrefix + "*"))}
	case readTransfers, writeTransfers, removeTransfers:
		return []*string{data.bucket.ArnForObjects(text(transferPrefix + "*"))}
	case readUserSecrets, writeUserSecrets:
		return []*string{secretsARN(stack, c, "user")}
	case readProviderSecrets:
		all := []*string{secretsARN(stack, c, hostSecrets)}
		for _, kind := range []berth.ProviderKind{berth.ProviderDaytona, berth.ProviderSSH, berth.ProviderExe, berth.ProviderSprites} {
			all = append(all, secretsARN(stack, c, berth.ProviderSecret(string(kind))))
		}
		return all
	case writeHostSecrets:
		return []*string{secretsARN(stack, c, hostSecrets)}
	case readAppSecret:
		return []*string{secretsARN(stack, c, path.Dir(berth.ProviderSecret(githubapp.SecretName)))}
	case startExecutions, answerTasks:
		return []*string{machineARN(stack, c)}
	case describeExecutions:
		return []*string{arn(stack, "states", "execution", c.machineName()+":*", awscdk.ArnFormat_COLON_RESOURCE_NAME)}
	}
	panic("a grant without resources")
}

// hostSecrets is what the names of hosts' bearers begin with.
var hostSecrets = path.Dir(berth.HostSecret("x"))

func secretsARN(stack awscdk.Stack, c *config, scope string) *string {
	return arn(stack, "secretsmanager", "secret", "berth/"+c.installation+"/"+scope+"/*", awscdk.ArnFormat_COLON_RESOURCE_NAME)
}

// machineARN is the state machine's, by its name: its own tasks need it, which
// would otherwise be made after the machine that is made after them.
func machineARN(stack awscdk.Stack, c *config) *string {
	return arn(stack, "states", "stateMachine", c.machineName(), awscdk.ArnFormat_COLON_RESOURCE_NAME)
}

func arn(stack awscdk.Stack, service, resource, name string, format awscdk.ArnFormat) *string {
	return stack.FormatArn(&awscdk.ArnComponents{
		Service: text(service), Resource: text(resource), ResourceName: text(name), ArnFormat: format,
	})
}
