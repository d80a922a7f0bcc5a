package main

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// metered is a table that counts what DynamoDB would charge for. Its data is in
// another table; what a write has by DynamoDB's reckoning is taken from the
// request that the adapter makes of it.
//
// DynamoDB's rules: an item's size is that of its attributes' names and values.
// A write takes a unit for each KB begun, twice in a transaction, and the larger
// of the old item and the new one counts. An index takes a unit for each KB of its
// entry when that comes, changes or goes; index keys of berth's stay as they are. A
// strongly consistent read takes a unit for each 4 KB begun; a query counts as
// one read of all that it looks at, half of it on an index.
type metered struct {
	berth.Table
	requests *dynamo.Table
	sent     capture

	mu     sync.Mutex // guards what follows, and sent
	sizes  map[string]int
	images map[string]map[string]string // index entries by item and index
	// Written and Read are the units so far.
	Written, Read float64
}

func newMetered(t berth.Table) *metered {
	m := &metered{Table: t, sizes: map[string]int{}, images: map[string]map[string]string{}}
	m.requests = dynamo.New(&m.sent, "berth", berth.SystemClock{})
	return m
}

// capture keeps the request that it is sent.
type capture struct {
	dynamo.Client
	items []types.TransactWriteItem
}

func (c *capture) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.items = in.TransactItems
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

const (
	writeUnit = 1 << 10 // bytes
	readUnit  = 4 << 10
)

func units(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

func sizeOf(attributes map[string]types.AttributeValue) (size int) {
	for name, value := range attributes {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += len(v.Value)/2 + 2
		}
	}
	return size
}

func textOf(attributes map[string]types.AttributeValue, name string) string {
	if s, ok := attributes[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// charge counts a transaction that was made.
func (m *metered) charge(ctx context.Context, writes []berth.Write) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.requests.Transact(ctx, writes); err != nil {
		return err
	}
	for _, item := range m.sent.items {
		switch {
		case item.Put != nil:
			m.put(item.Put.Item)
		case item.Delete != nil:
			m.put(item.Delete.Key)
			delete(m.sizes, textOf(item.Delete.Key, "pk")+"\x00"+textOf(item.Delete.Key, "sk"))
		default:
			m.Written += 2 // a check of an item of up to 1 KB
		}
	}
	return nil
}

func (m *metered) put(item map[string]types.AttributeValue) {
	key := textOf(item, "pk") + "\x00" + textOf(item, "sk")
	size := sizeOf(item)
	m.Written += 2 * units(max(size, m.sizes[key]), writeUnit)
	m.sizes[key] = size
	entries := map[string]string{}
	for _, index := range []string{"index1", "index2"} {
		was, is := m.images[key][index], ""
		if textOf(item, index+"_pk") != "" {
			is = textOf(item, index+"_pk") + "\x00" + textOf(item, index+"_sk") + "\x00" + key + textOf(item, "projected")
			entries[index] = is
		}
		if was != is {
			m.Written += units(max(len(was), len(is)), writeUnit)
		}
	}
	m.images[key] = entries
}

func (m *metered) Put(ctx context.Context, item berth.Item) (int64, error) {
	version, err := m.Table.Put(ctx, item)
	if err == nil {
		err = m.charge(ctx, []berth.Write{{Item: item}})
	}
	return version, err
}

func (m *metered) Delete(ctx context.Context, pk, sk string, version int64) error {
	err := m.Table.Delete(ctx, pk, sk, version)
	if err == nil {
		err = m.charge(ctx, []berth.Write{{Item: berth.Item{PK: pk, SK: sk, Version: version}, Delete: true}})
	}
	return err
}

func (m *metered) Transact(ctx context.Context, writes []berth.Write) error {
	err := m.Table.Transact(ctx, writes)
	if err == nil {
		err = m.charge(ctx, writes)
	}
	return err
}

func (m *metered) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	item, err := m.Table.Get(ctx, pk, sk)
	m.read(len(item.PK)+len(item.SK)+len(item.Body), 1)
	return item, err
}

func (m *metered) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	page, err := m.Table.Query(ctx, q)
	size := 0
	for _, item := range page.Items {
		size += len(item.PK) + len(item.SK) + len(item.Body) + len(item.Projected)
	}
	share := 1.0
	if q.Index > 0 {
		share = 0.5
	}
	m.read(size, share)
	return page, err
}

func (m *metered) read(size int, share float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Read += share * units(size, readUnit)
}

// count is what was counted so far.
func (m *metered) count() (written, read float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Written, m.Read
}
