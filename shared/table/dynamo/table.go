// Package dynamo keeps the berth table in one DynamoDB table.
package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/berth-dev/berth/shared/berth"
)

// Client is what the table needs of the SDK's client.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Table is a berth.Table in DynamoDB. It may be used by many goroutines at once.
type Table struct {
	client Client
	name   string
	clock  berth.Clock
}

var _ berth.Table = (*Table)(nil)

// New uses the DynamoDB table of that name, which has the layout that
// CreateTable makes.
func New(client Client, name string, clock berth.Clock) *Table {
	return &Table{client: client, name: name, clock: clock}
}
