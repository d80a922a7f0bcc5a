package dynamo

import (
	"context"
	"crypto/rand"
	jitter "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// Transactions that touch the same items at once cancel each other. They are
// tried again, at most for about four seconds in all.
const (
	maxAttempts  = 10
	firstBackOff = 20 * time.Millisecond
	maxBackOff   = 800 * time.Millisecond
)

// Put writes item if its version is the one in the table, 0 for none, and
// returns the new version. Errors: those of berth.Table.
func (t *Table) Put(ctx context.Context, item berth.Item) (int64, error) {
	if err := t.write(ctx, "writing an item", []berth.Write{{Item: item}}); err != nil {
		return 0, err
	}
	return item.Version + 1, nil
}

// Delete removes an item if its version is the one in the table. Errors: those
// of berth.Table.
func (t *Table) Delete(ctx context.Context, pk, sk string, version int64) error {
	item := berth.Item{PK: pk, SK: sk, Version: version}
	return t.write(ctx, "removing an item", []berth.Write{{Item: item, Delete: true}})
}

// Transact makes all writes or none. Errors: those of berth.Table.
func (t *Table) Transact(ctx context.Context, writes []berth.Write) error {
	return t.write(ctx, "writing items", writes)
}

// write is a transaction also for one item: its token makes a repetition of the
// request, after an answer that was lost, find its own effect. A plain put
// would find its condition broken by itself.
func (t *Table) write(ctx context.Context, doing string, writes []berth.Write) error {
	if err := table.CheckWrites(writes); err != nil {
		return berth.Wrap(err, doing)
	}
	input := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(rand.Text())}
	now := t.clock.Now().Unix()
	for _, w := range writes {
		input.TransactItems = append(input.TransactItems, t.transactItem(w, now))
	}
	backOff := firstBackOff
	for attempt := 1; ; attempt++ {
		_, err := t.client.TransactWriteItems(ctx, input)
		if err == nil {
			return nil
		}
		if i, ok := failedCondition(err); ok && i < len(writes) {
			return berth.Wrap(table.Stale(writes[i]), doing)
		}
		if attempt == maxAttempts || !isConflict(err) {
			return t.explain(doing, err)
		}
		if err := t.clock.Sleep(ctx, backOff/2+jitter.N(backOff/2)); err != nil {
			return t.explain(doing, err)
		}
		backOff = min(2*backOff, maxBackOff)
	}
}

func (t *Table) transactItem(w berth.Write, now int64) types.TransactWriteItem {
	name := aws.String(t.name)
	condition, names, values := conditionOf(w.Item.Version, now)
	switch {
	case w.Check:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: name, Key: keyOf(w.Item.PK, w.Item.SK), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}}
	case w.Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: name, Key: keyOf(w.Item.PK, w.Item.SK), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}}
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: name, Item: encode(w.Item), ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// conditionOf is the condition that the item has this version; an expired item
// counts as absent.
func conditionOf(version, now int64) (*string, map[string]string, attributes) {
	names := map[string]string{"#expires": attributeExpires}
	values := attributes{":now": number(now)}
	if version == 0 {
		names["#pk"] = attributePK
		return aws.String("attribute_not_exists(#pk) OR #expires <= :now"), names, values
	}
	names["#version"], values[":version"] = attributeVersion, number(version)
	return aws.String("#version = :version AND (attribute_not_exists(#expires) OR #expires > :now)"), names, values
}
