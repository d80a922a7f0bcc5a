package main

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// functions makes the functions of a stack, which write into one log group.
type functions struct {
	stack    awscdk.Stack
	config   *config
	data     *dataStack
	roles    *roles
	logs     awslogs.LogGroup
	security awsec2.CfnSecurityGroup // nil outside of subnets
}

func newFunctions(stack awscdk.Stack, c *config, data *dataStack, name string) *functions {
	logs := newLogGroup(stack, "Logs", "/berth/"+c.installation+"/"+name)
	return &functions{
		stack: stack, config: c, data: data, logs: logs, security: newSecurityGroup(stack, c),
		roles: &roles{stack: stack, config: c, data: data, logs: logs, made: map[permissionSet]awsiam.Role{}},
	}
}

// program is a function as it is deployed.
type program struct {
	kind, name string // its folder
	set        permissionSet
	timeout    time.Duration
	memoryMiB  int
	summary    string
}

// make makes the function of a program.
func (f *functions) make(p program) awslambda.Function {
	function := awslambda.NewFunction(f.stack, text(pascal(p.name)), &awslambda.FunctionProps{
		FunctionName: text(f.config.name(p.kind + "-" + p.name)),
		Description:  text(p.summary),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: f.config.architecture(),
		Handler:      text("bootstrap"),
		Code:         awslambda.Code_FromAsset(text(f.config.archive(p.kind, p.name)), nil),
		Role:         f.roles.of(p.set),
		Timeout:      lasting(p.timeout),
		MemorySize:   number(p.memoryMiB),
		Tracing:      awslambda.Tracing_ACTIVE,
		LogGroup:     f.logs,
		Environment:  f.environment(),
	})
	if f.config.inSubnets(p.set) {
		bare := function.Node().DefaultChild().(awslambda.CfnFunction)
		subnets := texts(f.config.subnets...)
		bare.SetVpcConfig(&awslambda.CfnFunction_VpcConfigProperty{
			SubnetIds: subnets, SecurityGroupIds: &[]*string{f.security.AttrGroupId()},
		})
	}
	return function
}

// environment is what every function of an installation is told; see
// shared/serverless.
func (f *functions) environment() *map[string]*string {
	told := map[string]*string{
		"BERTH_TABLE": f.data.table.TableName(), "BERTH_BUCKET": f.data.bucket.BucketName(),
		"BERTH_STATE_MACHINE": machineARN(f.stack, f.config), "BERTH_INSTALLATION": text(f.config.installation),
	}
	optional := map[string]string{
		"BERTH_DEFAULT_ENVIRONMENT": f.config.defaultEnvironment,
		"BERTH_DAYTONA_URL":         f.config.daytonaURL, "BERTH_SPRITES_URL": f.config.spritesURL,
	}
	if f.config.domain != "" {
		optional["BERTH_PUBLIC_URL"] = "https://" + f.config.domain
	}
	for name, value := range optional {
		if value != "" {
			told[name] = text(value)
		}
	}
	if f.config.maxLiveRuns > 0 {
		told["BERTH_MAX_LIVE_RUNS"] = text(strconv.Itoa(f.config.maxLiveRuns))
	}
	return &told
}

func (c *config) architecture() awslambda.Architecture {
	if c.arch == "amd64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

// newLogGroup keeps logs for three months. They are no data: they go with the stack.
func newLogGroup(stack awscdk.Stack, id, name string) awslogs.LogGroup {
	return awslogs.NewLogGroup(stack, text(id), &awslogs.LogGroupProps{
		LogGroupName: text(name), Retention: awslogs.RetentionDays_THREE_MONTHS, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
}

// pascal turns find-run into FindRun.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// kebab turns TableThrottles into table-throttles.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(name[i-1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
