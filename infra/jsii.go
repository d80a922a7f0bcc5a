package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// The CDK takes pointers everywhere. These make them, in fewer letters.
func text(s string) *string        { return &s }
func texts(s ...string) *[]*string { return jsii.Strings(s...) }
func number(n int) *float64        { return jsii.Number(n) }
func yes() *bool                   { return jsii.Bool(true) }
func no() *bool                    { return jsii.Bool(false) }
func lasting(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Millis(jsii.Number(float64(d.Milliseconds())))
}
