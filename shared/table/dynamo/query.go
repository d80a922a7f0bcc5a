package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// maxRounds bounds the requests for one page: where many expired items are in
// the way, the page ends early and has a Next.
const maxRounds = 20

// Query answers one page: strongly consistent for the table, eventually for an
// index. A page ends early when it holds about table.PageBytes. Errors: invalid,
// malformed for the cursor, unavailable.
func (t *Table) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	const doing = "querying the table"
	if err := table.CheckQuery(q); err != nil {
		return berth.Page{}, berth.Wrap(err, doing)
	}
	from, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return berth.Page{}, berth.Wrap(err, doing)
	}
	bounds := table.BoundsOf(q)
	if bounds.Empty() {
		return berth.Page{}, nil
	}
	input := t.input(q, bounds)
	if resumed {
		input.ExclusiveStartKey = startKey(q, from)
	}
	var page berth.Page
	size := 0
	for round := 1; ; round++ {
		input.Limit = aws.Int32(int32(q.Limit - len(page.Items)))
		out, err := t.client.Query(ctx, input)
		if err != nil {
			return berth.Page{}, t.explain(doing, err)
		}
		for _, a := range out.Items {
			if !bounds.Contain(textOf(a, sortAttribute(q))) {
				continue // an end of the range that is not in it
			}
			item, err := decode(a)
			if err != nil {
				return berth.Page{}, berth.Wrap(err, doing)
			}
			if q.Index > 0 {
				item.Expires = time.Time{} // not for readers of an index
			}
			page.Items = append(page.Items, item)
			size += len(item.Projected) + len(item.Body)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return page, nil
		}
		// DynamoDB ends its own pages at 1 MB: what is more than half full would
		// only grow beyond that.
		full := len(page.Items) == q.Limit || size >= table.PageBytes/2 || round >= maxRounds
		if end := positionOf(q, out.LastEvaluatedKey); full && bounds.Contain(sortKeyOf(q, end)) {
			page.Next = table.EncodeCursor(q, end)
			return page, nil
		}
		input.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (t *Table) input(q berth.Query, bounds table.Bounds) *dynamodb.QueryInput {
	input := &dynamodb.QueryInput{
		TableName:        aws.String(t.name),
		ScanIndexForward: aws.Bool(!q.Descending),
		FilterExpression: aws.String("attribute_not_exists(#expires) OR #expires > :now"),
		ExpressionAttributeNames: map[string]string{
			"#partition": attributePK,
			"#expires":   attributeExpires,
		},
		ExpressionAttributeValues: attributes{
			":partition": text(q.PK),
			":now":       number(t.clock.Now().Unix()),
		},
	}
	if q.Index == 0 {
		input.ConsistentRead = aws.Bool(true)
	} else {
		input.IndexName = aws.String(indexName(q.Index))
		input.ExpressionAttributeNames["#partition"] = indexPK(q.Index)
	}
	condition := rangeCondition(q, bounds, input.ExpressionAttributeValues)
	if condition != "" {
		input.ExpressionAttributeNames["#sort"] = sortAttribute(q)
		condition = " AND " + condition
	}
	input.KeyConditionExpression = aws.String("#partition = :partition" + condition)
	return input
}

// rangeCondition is the condition on the sort key, of which DynamoDB takes one.
// BETWEEN includes its ends; the reader drops what is not in the range.
func rangeCondition(q berth.Query, b table.Bounds, values attributes) string {
	if q.Prefix != "" && b == table.BoundsOf(berth.Query{Prefix: q.Prefix}) {
		values[":low"] = text(q.Prefix)
		return "begins_with(#sort, :low)"
	}
	if b.Low != "" {
		values[":low"] = text(b.Low)
	}
	if b.High != "" {
		// Only the end of the longest prefix can be longer than a key; the one
		// key with that prefix is the prefix.
		high := b.High
		if len(high) > berth.MaxSortKey {
			high = q.Prefix
		}
		values[":high"] = text(high)
	}
	switch {
	case b.Low != "" && b.High != "":
		return "#sort BETWEEN :low AND :high"
	case b.Low != "":
		return "#sort " + map[bool]string{true: ">", false: ">="}[b.LowOpen] + " :low"
	case b.High != "":
		return "#sort < :high"
	}
	return ""
}

func sortAttribute(q berth.Query) string {
	if q.Index == 0 {
		return attributeSK
	}
	return indexSK(q.Index)
}

func sortKeyOf(q berth.Query, p table.Position) string {
	if q.Index == 0 {
		return p.SK
	}
	return p.IndexSK
}

func positionOf(q berth.Query, key attributes) table.Position {
	p := table.Position{PK: textOf(key, attributePK), SK: textOf(key, attributeSK)}
	if q.Index > 0 {
		p.IndexSK = textOf(key, indexSK(q.Index))
	}
	return p
}

// startKey is where DynamoDB goes on from.
func startKey(q berth.Query, p table.Position) attributes {
	key := keyOf(p.PK, p.SK)
	if q.Index > 0 {
		key[indexPK(q.Index)], key[indexSK(q.Index)] = text(q.PK), text(p.IndexSK)
	}
	return key
}
