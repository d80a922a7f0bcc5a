package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"

	"github.com/berth-dev/berth/shared/metric"
)

// newDashboard shows what there is to see of an installation.
func newDashboard(s *apiStack, c *config, data *dataStack) {
	row := func(widgets ...awscloudwatch.IWidget) *[]awscloudwatch.IWidget { return &widgets }
	awscloudwatch.NewDashboard(s.stack, text("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: text("berth-" + c.installation),
		Widgets: &[]*[]awscloudwatch.IWidget{
			row(
				graph("Runs ended", c.by(metric.RunsEnded, metric.Status, "Sum")),
				graph("Seconds to a sandbox", c.measured(metric.ProvisionSeconds, "p50"), c.measured(metric.ProvisionSeconds, "p95")),
				graph("Seconds of output behind", c.measured(metric.FollowLagSeconds, "p95"), c.measured(metric.FollowLagSeconds, "Maximum")),
			),
			row(
				graph("Requests", gatewayMetric(s, "Count"), gatewayMetric(s, "4XXError"), gatewayMetric(s, "5XXError")),
				graph("Errors by code", c.by(metric.Errors, metric.Code, "Sum")),
				graph("Throttled by AWS", c.by(metric.Throttles, metric.Service, "Sum"), ofTable(data, readThrottles), ofTable(data, writeThrottles)),
			),
			row(
				graph("Executions", executions(s.stack, c, "ExecutionsStarted"), executions(s.stack, c, "ExecutionsFailed"),
					executions(s.stack, c, "ExecutionsAborted"), executions(s.stack, c, "ExecutionsTimedOut")),
				graph("Errors of the runner's functions", ofFunctions("Errors", c)...),
				graph("Invocations of the runner's functions", ofFunctions("Invocations", c)...),
			),
		},
	})
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: text(title), Width: number(8), Height: number(6), Left: &metrics, Period: lasting(alarmPeriod),
	})
}

// ofFunctions is a metric of each of the runner's functions.
func ofFunctions(metric string, c *config) (all []awscloudwatch.IMetric) {
	functions := c.runnerFunctions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		all = append(all, ofFunction(metric, functions[name]))
	}
	return all
}

// measured is a metric of berth's own, of the installation as a whole.
func (c *config) measured(name, statistic string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: text(metric.Namespace), MetricName: text(name), Statistic: text(statistic), Label: text(statistic),
		DimensionsMap: &map[string]*string{metric.Installation: text(c.installation)}, Period: lasting(alarmPeriod),
	})
}

// by is a metric of berth's own, a line for each value of a dimension.
func (c *config) by(name, dimension, statistic string) awscloudwatch.IMetric {
	search := fmt.Sprintf(`SEARCH('{%s,%s,%s} MetricName="%s" %s="%s"', '%s', %d)`,
		metric.Namespace, metric.Installation, dimension, name, metric.Installation, c.installation, statistic, int(alarmPeriod.Seconds()))
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: text(search), Label: text(""), Period: lasting(alarmPeriod), UsingMetrics: &map[string]awscloudwatch.IMetric{},
	})
}
