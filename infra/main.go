// Command infra is the CDK app that puts berth into an AWS account: three stacks,
// of data, of the runner and of the API. What it deploys is made from berth's own
// tables: the layout of the table, the state machine, the list of routes.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if _, err := newDeployment(app); err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		jsii.Close()
		os.Exit(1)
	}
	app.Synth(nil)
}
