package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
)

// dataStack has all that must outlive a deployment.
type dataStack struct {
	stack  awscdk.Stack
	table  awsdynamodb.Table
	bucket awss3.Bucket
	key    awskms.IKey   // nil where AWS's own keys are used
	alerts awssns.ITopic // nil where nobody is told
}

func newDataStack(app awscdk.App, c *config) *dataStack {
	s := &dataStack{stack: newStack(app, c, "data", "the table and the bucket")}
	s.key = newKey(s.stack, c)
	s.table = newTable(s.stack, c, s.key)
	s.bucket = newBucket(s.stack, c, s.key)
	s.alerts = newAlerts(s.stack, c)
	alarmTable(s, c)
	output(s.stack, "Table", s.table.TableName(), "The table of all records")
	output(s.stack, "Bucket", s.bucket.BucketName(), "The bucket of output and files")
	return s
}

// removal is what becomes of data when its stack is removed.
func (c *config) removal() awscdk.RemovalPolicy {
	if c.retainData {
		return awscdk.RemovalPolicy_RETAIN
	}
	return awscdk.RemovalPolicy_DESTROY
}

// output names a value of the stack for people and scripts.
func output(stack awscdk.Stack, name string, value *string, description string) {
	made := awscdk.NewCfnOutput(stack, text(name+"Output"), &awscdk.CfnOutputProps{Value: value, Description: text(description)})
	made.OverrideLogicalId(text(name))
}
