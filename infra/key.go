package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
)

// newKey is the customer's key for table and bucket: a new one, one that is
// there, or nil for the keys that AWS owns.
func newKey(stack awscdk.Stack, c *config) awskms.IKey {
	switch c.customerKey {
	case "":
		return nil
	case customerKeyNew:
		return awskms.NewKey(stack, text("Key"), &awskms.KeyProps{
			Description:       text("Encrypts the table and the bucket of " + c.name("data")),
			EnableKeyRotation: yes(),
			// Without it the data is lost.
			RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
		})
	}
	return awskms.Key_FromKeyArn(stack, text("Key"), text(c.customerKey))
}
