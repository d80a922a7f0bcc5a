package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// Get reads one item, strongly consistent. Errors: not_found, invalid,
// unavailable.
func (t *Table) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	const doing = "reading an item"
	if err := table.CheckKey(pk, sk); err != nil {
		return berth.Item{}, berth.Wrap(err, doing)
	}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(t.name),
		Key:            keyOf(pk, sk),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return berth.Item{}, t.explain(doing, err)
	}
	item, err := decode(out.Item)
	if err != nil {
		return berth.Item{}, berth.Wrap(err, doing)
	}
	// DynamoDB removes expired items within days only.
	if len(out.Item) == 0 || !item.Expires.IsZero() && !item.Expires.After(t.clock.Now()) {
		return berth.Item{}, berth.Wrap(table.NotFound(pk, sk), doing)
	}
	return item, nil
}
