package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"

	"github.com/berth-dev/berth/shared/table/dynamo"
)

// newTable makes the table with the layout that its adapter expects. It is a
// plain table and no global one: berth lives in one region, and emulators know
// plain ones better.
func newTable(stack awscdk.Stack, c *config, key awskms.IKey) awsdynamodb.Table {
	layout := dynamo.Layout()
	props := &awsdynamodb.TableProps{
		PartitionKey: attribute(layout.PartitionKey), SortKey: attribute(layout.SortKey),
		TimeToLiveAttribute: text(layout.ExpiresAttribute),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: yes(),
		},
		DeletionProtection: &c.retainData,
		RemovalPolicy:      c.removal(),
	}
	if key != nil {
		props.Encryption, props.EncryptionKey = awsdynamodb.TableEncryption_CUSTOMER_MANAGED, key
	}
	table := awsdynamodb.NewTable(stack, text("Table"), props)
	for _, index := range layout.Indexes {
		table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName:    text(index.Name),
			PartitionKey: attribute(index.PartitionKey), SortKey: attribute(index.SortKey),
			ProjectionType: awsdynamodb.ProjectionType_INCLUDE, NonKeyAttributes: texts(index.Projected...),
		})
	}
	return table
}

func attribute(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: text(name), Type: awsdynamodb.AttributeType_STRING}
}
