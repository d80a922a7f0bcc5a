package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Creator is what CreateTable needs of the SDK's client.
type Creator interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// createWait is how long a new table may take to be there.
const createWait = 2 * time.Minute

// CreateTable makes a table with the layout that this package expects, and
// waits until it is there. Deployments make theirs by a template with the same
// layout; this is for tests, which thereby pin it.
func CreateTable(ctx context.Context, client Creator, name string) error {
	layout := Layout()
	input := &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(layout.PartitionKey, layout.SortKey),
	}
	keys := []string{layout.PartitionKey, layout.SortKey}
	for _, index := range layout.Indexes {
		keys = append(keys, index.PartitionKey, index.SortKey)
		input.GlobalSecondaryIndexes = append(input.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(index.Name),
			KeySchema: keySchema(index.PartitionKey, index.SortKey),
			Projection: &types.Projection{
				ProjectionType:   types.ProjectionTypeInclude,
				NonKeyAttributes: index.Projected,
			},
		})
	}
	for _, key := range keys {
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS,
		})
	}
	if _, err := client.CreateTable(ctx, input); err != nil {
		return fmt.Errorf("creating table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, createWait); err != nil {
		return fmt.Errorf("waiting for table %s: %w", name, err)
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(layout.ExpiresAttribute), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("setting the time to live of table %s: %w", name, err)
	}
	return nil
}

func keySchema(pk, sk string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sk), KeyType: types.KeyTypeRange},
	}
}
