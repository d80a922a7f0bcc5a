package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
)

// alarmPeriod is what counts and limits are over.
const alarmPeriod = 5 * time.Minute

// alarm goes off when what is measured is over the limit in two periods of three.
type alarm struct {
	id, summary string
	metric      awscloudwatch.IMetric
	over        int
}

// newAlarm makes an alarm that tells the topic, if there is one.
func newAlarm(stack awscdk.Stack, c *config, alerts awssns.ITopic, a alarm) {
	made := awscloudwatch.NewAlarm(stack, text(a.id), &awscloudwatch.AlarmProps{
		AlarmName: text(c.name(kebab(a.id))), AlarmDescription: text(a.summary),
		Metric: a.metric, Threshold: number(a.over), ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD,
		EvaluationPeriods: number(3), DatapointsToAlarm: number(2), TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	if alerts != nil {
		made.AddAlarmAction(awscloudwatchactions.NewSnsAction(alerts))
		made.AddOkAction(awscloudwatchactions.NewSnsAction(alerts))
	}
}

// alarmTable tells of a table that is asked too much.
func alarmTable(s *dataStack, c *config) {
	newAlarm(s.stack, c, s.alerts, alarm{
		id: "TableThrottles", summary: "DynamoDB turns down reads or writes of berth's table",
		metric: tableThrottles(s), over: 0,
	})
}

func tableThrottles(s *dataStack) awscloudwatch.IMetric {
	of := func(name string) awscloudwatch.IMetric {
		return counted("AWS/DynamoDB", name, map[string]*string{"TableName": s.table.TableName()})
	}
	return sum("throttled", of("ReadThrottleEvents"), of("WriteThrottleEvents"))
}

// alarmRunner tells of executions and functions that fail.
func alarmRunner(s *runnerStack, c *config, data *dataStack) {
	newAlarm(s.stack, c, data.alerts, alarm{
		id: "ExecutionFailures", summary: "Executions of the state machine fail: a run goes on only after the sweeper has found it",
		metric: sum("failed", executions(s, "ExecutionsFailed"), executions(s, "ExecutionsTimedOut")), over: 0,
	})
	functions := []awslambda.Function{s.sweeper}
	for _, name := range slices.Sorted(maps.Keys(s.tasks)) {
		functions = append(functions, s.tasks[name])
	}
	// An alarm takes ten metrics.
	part := 0
	for some := range slices.Chunk(functions, 10) {
		part++
		newAlarm(s.stack, c, data.alerts, alarm{
			id: fmt.Sprintf("FunctionErrors%d", part), summary: "Functions of the runner fail, beyond what a retry makes good",
			metric: sum("errors", lambdas("Errors", some)...), over: 5,
		})
		newAlarm(s.stack, c, data.alerts, alarm{
			id: fmt.Sprintf("FunctionThrottles%d", part), summary: "Lambda turns down the runner: the account's concurrency is used up",
			metric: sum("throttles", lambdas("Throttles", some)...), over: 0,
		})
	}
}

func executions(s *runnerStack, name string) awscloudwatch.IMetric {
	return counted("AWS/States", name, map[string]*string{"StateMachineArn": s.machine.StateMachineArn()})
}

func lambdas(metric string, functions []awslambda.Function) (all []awscloudwatch.IMetric) {
	for _, f := range functions {
		all = append(all, counted("AWS/Lambda", metric, map[string]*string{"FunctionName": f.FunctionName()}))
	}
	return all
}

// alarmAPI tells of an API that fails: its functions' errors, throttles and time-outs
// are all answers of 500 or more.
func alarmAPI(s *apiStack, c *config, data *dataStack) {
	newAlarm(s.stack, c, data.alerts, alarm{
		id: "RequestFailures", summary: "The API answers with 500 or more", metric: gatewayMetric(s, "5XXError"), over: 5,
	})
}

func gatewayMetric(s *apiStack, name string) awscloudwatch.IMetric {
	return counted("AWS/ApiGateway", name, map[string]*string{"ApiName": s.api.RestApiName(), "Stage": text(stageName)})
}

// counted is the sum of a metric.
func counted(namespace, name string, dimensions map[string]*string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: text(namespace), MetricName: text(name), DimensionsMap: &dimensions,
		Statistic: text("Sum"), Period: lasting(alarmPeriod),
	})
}

// sum adds metrics up under a name of lower-case letters; nothing counts as nothing.
func sum(name string, metrics ...awscloudwatch.IMetric) awscloudwatch.IMetric {
	using := map[string]awscloudwatch.IMetric{}
	var terms []string
	for i, m := range metrics {
		id := fmt.Sprintf("%s%d", name, i) // unlike those of other sums in a graph
		using[id] = m
		terms = append(terms, "FILL("+id+", 0)")
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: text(strings.Join(terms, " + ")), UsingMetrics: &using, Label: text(name), Period: lasting(alarmPeriod),
	})
}
