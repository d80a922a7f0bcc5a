package main

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
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
		id: "TableReadThrottles", summary: "DynamoDB turns reads of berth's table down", metric: ofTable(s, readThrottles), over: 0,
	})
	newAlarm(s.stack, c, s.alerts, alarm{
		id: "TableWriteThrottles", summary: "DynamoDB turns writes to berth's table down", metric: ofTable(s, writeThrottles), over: 0,
	})
}

const (
	readThrottles  = "ReadThrottleEvents"
	writeThrottles = "WriteThrottleEvents"
)

func ofTable(s *dataStack, name string) awscloudwatch.IMetric {
	return counted("AWS/DynamoDB", name, map[string]*string{"TableName": s.table.TableName()})
}

// alarmRunner tells of executions and functions that fail.
func alarmRunner(s *runnerStack, c *config, data *dataStack) {
	newAlarm(s.stack, c, data.alerts, alarm{
		id: "ExecutionFailures", summary: "Executions of the state machine fail: a run goes on only after the sweeper has found it",
		metric: executions(s.stack, c, "ExecutionsFailed"), over: 0,
	})
	functions := c.runnerFunctions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		newAlarm(s.stack, c, data.alerts, alarm{
			id: name + "Errors", summary: "The function of " + name + " fails, beyond what a retry makes good",
			metric: ofFunction("Errors", functions[name]), over: 5,
		})
	}
	// The concurrency that can be used up is that of the account: so is the metric.
	newAlarm(s.stack, c, data.alerts, alarm{
		id: "FunctionThrottles", summary: "Lambda turns calls down: the account's concurrency in this region is used up",
		metric: counted("AWS/Lambda", "Throttles", nil), over: 0,
	})
}

func executions(stack awscdk.Stack, c *config, name string) awscloudwatch.IMetric {
	return counted("AWS/States", name, map[string]*string{"StateMachineArn": machineARN(stack, c)})
}

func ofFunction(metric, function string) awscloudwatch.IMetric {
	return counted("AWS/Lambda", metric, map[string]*string{"FunctionName": text(function)})
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
