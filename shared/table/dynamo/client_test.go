package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table/dynamo"
	"github.com/google/go-cmp/cmp"
)

// fakeClient answers with its functions what an emulator never says.
type fakeClient struct {
	dynamo.Client // for the calls that a test does not expect
	query         func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
	write         func(*dynamodb.TransactWriteItemsInput) error
}

func (c *fakeClient) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return c.query(in)
}

func (c *fakeClient) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, c.write(in)
}

// countingClock does not wait but adds up.
type countingClock struct {
	berth.SystemClock
	slept time.Duration
}

func (c *countingClock) Sleep(_ context.Context, d time.Duration) error {
	c.slept += d
	return nil
}

func cancelledFor(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return fmt.Errorf("operation error: %w", e)
}

func TestTransactionsInEachOthersWayAreRepeated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		failures int
		err      error
		want     berth.Code
		attempts int
	}{
		{"a conflict that passes", 3, cancelledFor("None", "TransactionConflict"), "", 4},
		{"a conflict that does not", 1000, cancelledFor("None", "TransactionConflict"), berth.CodeUnavailable, 10},
		{"too much at once", 2, cancelledFor("ThrottlingError", "None"), "", 3},
		{"the same request is still running", 1, &types.TransactionInProgressException{}, "", 2},
		{"a condition that does not hold", 1000, cancelledFor("None", "ConditionalCheckFailed"), berth.CodeStale, 1},
		{"a condition and a conflict", 1000, cancelledFor("TransactionConflict", "ConditionalCheckFailed"), berth.CodeStale, 1},
		{"an item that DynamoDB refuses", 1000, cancelledFor("ValidationError", "None"), berth.CodeInternal, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tokens := map[string]int{}
			client := &fakeClient{write: func(in *dynamodb.TransactWriteItemsInput) error {
				tokens[aws.ToString(in.ClientRequestToken)]++
				if test.failures--; test.failures >= 0 {
					return test.err
				}
				return nil
			}}
			clock := &countingClock{}
			err := dynamo.New(client, "berth", clock).Transact(t.Context(), []berth.Write{
				{Item: berth.Item{PK: "p", SK: "1"}}, {Item: berth.Item{PK: "p", SK: "2"}},
			})
			if got := berth.CodeOf(err); got != test.want {
				t.Fatalf("Transact = %v, want code %q", err, test.want)
			}
			if len(tokens) != 1 {
				t.Errorf("%d tokens for one transaction, want 1", len(tokens))
			}
			for token, attempts := range tokens {
				if token == "" || attempts != test.attempts {
					t.Errorf("%d attempts with token %q, want %d", attempts, token, test.attempts)
				}
			}
			if clock.slept > 10*time.Second {
				t.Errorf("waited for %v in all", clock.slept)
			}
		})
	}
}

func TestAPageGoesOnWhileDynamoDBHasMore(t *testing.T) {
	t.Parallel()
	key := func(sk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: sk},
			"version": &types.AttributeValueMemberN{Value: "1"},
		}
	}
	// An empty page with a last key, then two items, then an empty last page.
	answers := []*dynamodb.QueryOutput{
		{LastEvaluatedKey: key("b")},
		{Items: []map[string]types.AttributeValue{key("c"), key("d")}, LastEvaluatedKey: key("d")},
		{},
	}
	var from []string
	client := &fakeClient{query: func(in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
		start := ""
		if s, ok := in.ExclusiveStartKey["sk"].(*types.AttributeValueMemberS); ok {
			start = s.Value
		}
		from = append(from, start)
		if !aws.ToBool(in.ConsistentRead) {
			t.Error("a query of the table is not strongly consistent")
		}
		out := answers[0]
		answers = answers[1:]
		return out, nil
	}}
	page, err := dynamo.New(client, "berth", berth.SystemClock{}).Query(t.Context(), berth.Query{PK: "p", Limit: 10})
	if err != nil || len(page.Items) != 2 || page.Next != "" {
		t.Fatalf("Query = %d items, next %q, %v; want 2 and no next", len(page.Items), page.Next, err)
	}
	if diff := cmp.Diff([]string{"", "b", "d"}, from); diff != "" {
		t.Errorf("start keys, want (-) got (+):\n%s", diff)
	}
}

func TestAPageOfExpiredItemsEndsAndCanGoOn(t *testing.T) {
	t.Parallel()
	requests := 0
	client := &fakeClient{query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
		requests++
		return &dynamodb.QueryOutput{LastEvaluatedKey: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("%06d", requests)},
		}}, nil
	}}
	table := dynamo.New(client, "berth", berth.SystemClock{})
	q := berth.Query{PK: "p", Limit: 10}
	for range 2 {
		requests = 0
		page, err := table.Query(t.Context(), q)
		if err != nil || len(page.Items) != 0 || page.Next == "" || requests > 50 {
			t.Fatalf("Query = %d items, next %q, %v after %d requests; want an early end with a next", len(page.Items), page.Next, err, requests)
		}
		q.Cursor = page.Next
	}
}

func TestFailuresOfTheServiceAreExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{&types.ResourceNotFoundException{}, "Deploy"},
		{&smithy.GenericAPIError{Code: "AccessDeniedException"}, "permissions"},
		{&types.ProvisionedThroughputExceededException{}, "Try again"},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, "Try again"},
		{&types.InternalServerError{}, "Try again"},
		{errors.New("connection reset"), "Try again"},
	} {
		client := &fakeClient{query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) { return nil, test.err }}
		_, err := dynamo.New(client, "berth", berth.SystemClock{}).Query(t.Context(), berth.Query{PK: "p", Limit: 1})
		var coded *berth.Error
		if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || !strings.Contains(coded.Remediation, test.want) {
			t.Errorf("Query when the service says %v = %v, want unavailable and %q", test.err, err, test.want)
		}
	}
	client := &fakeClient{query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
		return nil, &smithy.GenericAPIError{Code: "ValidationException"}
	}}
	_, err := dynamo.New(client, "berth", berth.SystemClock{}).Query(t.Context(), berth.Query{PK: "p", Limit: 1})
	if berth.CodeOf(err) != berth.CodeInternal {
		t.Errorf("Query when the request is wrong = %v, want internal: it is a fault of berth", err)
	}
}

func TestAPageThatEndsOnTheExcludedBoundGoesOn(t *testing.T) {
	t.Parallel()
	key := func(sk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: sk},
		}
	}
	large := key("b")
	large["projected"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 900_000)}
	// BETWEEN gives the bound "c" too, and DynamoDB may stop right there.
	answers := []*dynamodb.QueryOutput{
		{Items: []map[string]types.AttributeValue{large, key("c")}, LastEvaluatedKey: key("c")},
		{},
	}
	client := &fakeClient{query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
		out := answers[0]
		answers = answers[1:]
		return out, nil
	}}
	table := dynamo.New(client, "berth", berth.SystemClock{})
	page, err := table.Query(t.Context(), berth.Query{PK: "p", After: "a", Before: "c", Limit: 10})
	if err != nil || len(page.Items) != 1 || page.Next != "" {
		t.Fatalf("Query = %d items, next %q, %v; want 1 and no next: a cursor at a bound belongs to no query", len(page.Items), page.Next, err)
	}
}

// recordingCreator keeps the layout that CreateTable asks for: an emulator
// filters by attributes that an index does not carry, which DynamoDB cannot.
type recordingCreator struct {
	table *dynamodb.CreateTableInput
	ttl   *dynamodb.UpdateTimeToLiveInput
}

func (c *recordingCreator) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	c.table = in
	return &dynamodb.CreateTableOutput{}, nil
}

func (c *recordingCreator) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: types.TableStatusActive}}, nil
}

func (c *recordingCreator) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	c.ttl = in
	return &dynamodb.UpdateTimeToLiveOutput{}, nil
}

func TestIndexesCarryWhatTheirReadersFilterBy(t *testing.T) {
	t.Parallel()
	creator := &recordingCreator{}
	if err := dynamo.CreateTable(t.Context(), creator, "berth"); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, index := range creator.table.GlobalSecondaryIndexes {
		if index.Projection.ProjectionType != types.ProjectionTypeInclude {
			t.Errorf("%s projects %s, want only what is included", aws.ToString(index.IndexName), index.Projection.ProjectionType)
		}
		got[aws.ToString(index.IndexName)] = index.Projection.NonKeyAttributes
	}
	carried := []string{"projected", "expires"}
	if diff := cmp.Diff(map[string][]string{"index1": carried, "index2": carried}, got); diff != "" {
		t.Errorf("attributes that the indexes carry, want (-) got (+):\n%s", diff)
	}
	if got := aws.ToString(creator.ttl.TimeToLiveSpecification.AttributeName); got != "expires" {
		t.Errorf("the time to live is in %q, want expires", got)
	}
}
