package serverless_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/smithy-go/middleware"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/runner/stepfn"
	"github.com/berth-dev/berth/shared/serverless"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// samples keeps what was measured.
type samples struct {
	mu  sync.Mutex // guards all
	all []metric.Sample
}

func (s *samples) Write(_ context.Context, m metric.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m)
}

// service answers requests with these bodies in turn, and with the last one ever
// after; one that begins with a brace is a success.
func service(t *testing.T, answers ...string) aws.Config {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if !strings.HasPrefix(answer, "{") {
			w.WriteHeader(http.StatusBadRequest)
			kind, rest, _ := strings.Cut(answer, " ")
			answer = `{"__type":"com.amazonaws#` + kind + `","message":"no"` + rest + `}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
	}
}

// hasty is a clock that does not wait.
type hasty struct{ berth.SystemClock }

func (hasty) Sleep(context.Context, time.Duration) error { return nil }

func TestThrottledAttemptsAreCountedThoughALaterOneSucceeds(t *testing.T) {
	t.Parallel()
	const (
		busy   = "ProvisionedThroughputExceededException"
		table  = "DynamoDB"
		reason = `TransactionCanceledException ,"CancellationReasons":[{"Code":"None"},{"Code":"`
	)
	read := func(ctx context.Context, c aws.Config) error {
		_, err := dynamo.New(dynamodb.NewFromConfig(c), "berth", hasty{}).Get(ctx, "p", "s")
		return err
	}
	write := func(ctx context.Context, c aws.Config) error {
		return dynamo.New(dynamodb.NewFromConfig(c), "berth", hasty{}).Transact(ctx, []berth.Write{
			{Item: berth.Item{PK: "p", SK: "1"}}, {Item: berth.Item{PK: "p", SK: "2"}},
		})
	}
	describe := func(ctx context.Context, c aws.Config) error {
		o, err := stepfn.New(sfn.NewFromConfig(c), whole()["BERTH_STATE_MACHINE"])
		if err != nil {
			return err
		}
		_, err = o.Describe(ctx, "run-1")
		return err
	}
	for name, c := range map[string]struct {
		answers []string
		call    func(context.Context, aws.Config) error
		code    berth.Code
		count   int
		of      string
	}{
		"a read that succeeds at the third try": {[]string{busy, busy, `{"Item":{"pk":{"S":"p"},"sk":{"S":"s"},"version":{"N":"1"}}}`}, read, "", 2, table},
		"a read that never succeeds":            {[]string{busy}, read, berth.CodeUnavailable, 4, table},
		"a transaction that is throttled":       {[]string{reason + `ThrottlingError"}]`, `{}`}, write, "", 1, table},
		"a transaction in another one's way":    {[]string{reason + `TransactionConflict"}]`, `{}`}, write, "", 0, ""},
		"a condition that does not hold":        {[]string{reason + `ConditionalCheckFailed"}]`}, write, berth.CodeStale, 0, ""},
		"Step Functions":                        {[]string{"ThrottlingException", `{"status":"RUNNING","executionArn":"a","stateMachineArn":"m","startDate":1}`}, describe, "", 1, "SFN"},
		"an execution that is not there":        {[]string{"ExecutionDoesNotExist"}, describe, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &samples{}
			config := service(t, c.answers...)
			config.APIOptions = []func(*middleware.Stack) error{serverless.CountThrottles(metric.New(kept))}
			if err := c.call(t.Context(), config); berth.CodeOf(err) != c.code {
				t.Errorf("the call = %v, want code %q", err, c.code)
			}
			var want []metric.Sample
			for range c.count {
				want = append(want, metric.Sample{Name: metric.Throttles, Unit: metric.Count, Value: 1, By: metric.Service, Of: c.of})
			}
			if diff := cmp.Diff(want, kept.all); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryPartOfAFunctionCounts(t *testing.T) {
	t.Parallel()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	if w.Runner().Metrics == nil || w.API().Metrics == nil || serverless.PlaneOf(w).Metrics == nil {
		t.Error("the runner, the API or its control plane has nobody to count")
	}
}

func TestLogLinesCarryTheGatewaysRequest(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logged(t, &b)
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["gateway_request"] != "gateway-7" || line["operation"] != "find-health" {
		t.Errorf("the line is %s, %v", b.String(), err)
	}
}
