package dynamo

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// The attributes of an item. The body is text, so that people can read it in
// the console. What is empty is left out, which keeps the indexes sparse.
const (
	attributePK        = "pk"
	attributeSK        = "sk"
	attributeVersion   = "version"
	attributeExpires   = "expires"
	attributeProjected = "projected"
	attributeBody      = "body"
)

// indexName, indexPK and indexSK name index 1 or 2 and its key attributes.
func indexName(index int) string { return fmt.Sprintf("index%d", index) }
func indexPK(index int) string   { return fmt.Sprintf("index%d_pk", index) }
func indexSK(index int) string   { return fmt.Sprintf("index%d_sk", index) }

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOf(pk, sk string) attributes {
	return attributes{attributePK: text(pk), attributeSK: text(sk)}
}

// encode gives the attributes of item with the version after the write.
func encode(item berth.Item) attributes {
	a := keyOf(item.PK, item.SK)
	a[attributeVersion] = number(item.Version + 1)
	if expires := table.ExpirySeconds(item.Expires); expires != 0 {
		a[attributeExpires] = number(expires)
	}
	for index, key := range map[int]berth.IndexKey{1: item.Index1, 2: item.Index2} {
		if key != (berth.IndexKey{}) {
			a[indexPK(index)], a[indexSK(index)] = text(key.PK), text(key.SK)
		}
	}
	if item.Projected != "" {
		a[attributeProjected] = text(item.Projected)
	}
	if len(item.Body) > 0 {
		a[attributeBody] = text(string(item.Body))
	}
	return a
}

// decode gives the item that the attributes describe. Those that an index does
// not carry are zero.
func decode(a attributes) (berth.Item, error) {
	item := berth.Item{
		PK:        textOf(a, attributePK),
		SK:        textOf(a, attributeSK),
		Index1:    berth.IndexKey{PK: textOf(a, indexPK(1)), SK: textOf(a, indexSK(1))},
		Index2:    berth.IndexKey{PK: textOf(a, indexPK(2)), SK: textOf(a, indexSK(2))},
		Projected: textOf(a, attributeProjected),
		Body:      []byte(textOf(a, attributeBody)),
	}
	var err error
	if item.Version, err = numberOf(a, attributeVersion); err != nil {
		return item, err
	}
	expires, err := numberOf(a, attributeExpires)
	item.Expires = table.ExpiryTime(expires)
	return item, err
}

func textOf(a attributes, name string) string {
	if s, ok := a[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func numberOf(a attributes, name string) (int64, error) {
	n, ok := a[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading attribute %s: %w", name, err)
	}
	return v, nil
}
