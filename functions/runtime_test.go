package functions_test

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/serverless/lambdatest"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// cloud is an account on an emulator with berth's table.
type cloud struct {
	variables map[string]string
	records   *records.Store
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	config := emulator.Start(t, emulator.Ministack).Config(t)
	client := dynamodb.NewFromConfig(config)
	if err := dynamo.CreateTable(t.Context(), client, "berth"); err != nil {
		t.Fatal(err)
	}
	keys, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clock := berth.SystemClock{}
	return cloud{
		variables: map[string]string{
			"AWS_REGION": config.Region, "AWS_ACCESS_KEY_ID": keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY": keys.SecretAccessKey,
			"AWS_ENDPOINT_URL": *config.BaseEndpoint, "BERTH_TABLE": "berth", "BERTH_BUCKET": "berth-" + keys.AccessKeyID,
			"BERTH_INSTALLATION":  "test",
			"BERTH_STATE_MACHINE": "arn:aws:states:" + config.Region + ":" + keys.AccessKeyID + ":stateMachine:berth-runs",
		},
		records: &records.Store{Table: dynamo.New(client, "berth", clock), Clock: clock, IDs: ids.New(clock)},
	}
}

// call sends an event of the gateway to a function and decodes its answer.
func call(t *testing.T, f *lambdatest.Function, event events.APIGatewayProxyRequest) (status int, body map[string]any) {
	t.Helper()
	output, failure := f.Invoke(t, event)
	if failure != nil {
		t.Fatalf("the function failed: %+v", failure)
	}
	var reply events.APIGatewayProxyResponse
	if err := json.Unmarshal(output, &reply); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(reply.Body), &body); err != nil {
		t.Fatalf("the body of %d is no JSON: %s", reply.StatusCode, reply.Body)
	}
	return reply.StatusCode, body
}

func TestProgramsAnswerBehindTheRuntimeAPI(t *testing.T) {
	c := newCloud(t)
	programs := build(t, "./api/find-health", "./api/create-environment", "./api/find-environment", "./runner/admit", "./events/authorizer")
	start := func(t *testing.T, name string) *lambdatest.Function {
		return lambdatest.Start(t, filepath.Join(programs, name), c.variables)
	}
	sample := func(t *testing.T, name string) (event events.APIGatewayProxyRequest) {
		readSample(t, "api", name, &event)
		return event
	}
	keys := &access.Keys{Records: c.records, Clock: c.records.Clock, IDs: c.records.IDs, Random: rand.Reader}
	key, value, err := keys.Issue(t.Context(), berth.Key{Name: "reader", Scopes: []berth.Scope{berth.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	secret := string(value.Reveal())

	t.Run("health is told without a key", func(t *testing.T) {
		f := start(t, "find-health")
		for range 3 { // one process serves one after another
			if status, body := call(t, f, sample(t, "find-health")); status != 200 || body["status"] != "ok" {
				t.Errorf("status %d, body %v", status, body)
			}
		}
		// A program's answer does not wait for who reads its log.
		named := func() bool { return strings.Contains(f.Output(), `"invocation":"request-3"`) }
		for end := time.Now().Add(20 * time.Second); !named() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if !named() {
			t.Errorf("the log does not name the invocation:\n%s", f.Output())
		}
	})
	t.Run("an environment is created by one function and found by another", func(t *testing.T) {
		create := start(t, "create-environment")
		if status, body := call(t, create, sample(t, "create-environment")); status != 201 || body["id"] != "ci" {
			t.Fatalf("create: status %d, body %v", status, body)
		}
		again := sample(t, "create-environment")
		if status, body := call(t, create, again); status != 409 {
			t.Errorf("create again: status %d, body %v", status, body)
		}
		found := sample(t, "find-environment")
		found.Path = httpapi.Prefix + "/environments/ci"
		find := start(t, "find-environment")
		if status, body := call(t, find, found); status != 200 || body["provider"] != "docker" {
			t.Errorf("find: status %d, body %v", status, body)
		}
		if status, body := call(t, find, sample(t, "find-environment")); status != 404 || body["code"] != "not_found" {
			t.Errorf("find another: status %d, body %v", status, body)
		}
	})
	t.Run("a function that the gateway did not ask the authorizer for checks the key itself", func(t *testing.T) {
		event := sample(t, "create-environment")
		event.RequestContext.Authorizer = nil
		for token, want := range map[string]int{"": 401, "Bearer bth_nobody": 401, "Bearer " + secret: 403} {
			event.Headers, event.MultiValueHeaders = map[string]string{"Authorization": token, "Content-Type": "application/json"}, nil
			if token == "" {
				delete(event.Headers, "Authorization")
			}
			if status, body := call(t, start(t, "create-environment"), event); status != want {
				t.Errorf("with %q: status %d, body %v, want %d", token, status, body, want)
			}
		}
	})
	t.Run("the authorizer knows a key until it is removed", func(t *testing.T) {
		f := start(t, "authorizer")
		var event events.APIGatewayCustomAuthorizerRequest
		readSample(t, "events", "authorizer", &event)
		event.AuthorizationToken = "Bearer " + secret
		output, failure := f.Invoke(t, event)
		var reply events.APIGatewayCustomAuthorizerResponse
		if failure != nil || json.Unmarshal(output, &reply) != nil || reply.PrincipalID != string(key.ID) {
			t.Errorf("the authorizer says %s, %+v", output, failure)
		}
		if err := c.records.DeleteKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if output, failure := f.Invoke(t, event); failure == nil || failure.Message != "Unauthorized" {
			t.Errorf("after its removal the authorizer says %s, %+v", output, failure)
		}
	})
	t.Run("a task's error has the name that the machine matches", func(t *testing.T) {
		variables := maps.Clone(c.variables)
		variables["BERTH_TABLE"] = "no-such-table"
		f := lambdatest.Start(t, filepath.Join(programs, "admit"), variables)
		var event json.RawMessage
		readSample(t, "runner", "admit", &event)
		if output, failure := f.Invoke(t, event); failure == nil || failure.Type != "Berth.Unavailable" || !strings.Contains(failure.Message, "no-such-table") {
			t.Errorf("the task says %s, %+v", output, failure)
		}
		output, failure := start(t, "admit").Invoke(t, event)
		var state map[string]any
		if failure != nil || json.Unmarshal(output, &state) != nil || state["run"] == "" {
			t.Errorf("the task of an unknown run says %s, %+v", output, failure)
		}
	})
	t.Run("a program does not start without the table's name", func(t *testing.T) {
		variables := maps.Clone(c.variables)
		delete(variables, "BERTH_TABLE")
		f := lambdatest.Start(t, filepath.Join(programs, "find-health"), variables)
		if status := f.Exit(t); status != 1 || !strings.Contains(f.Output(), "BERTH_TABLE: is missing") {
			t.Errorf("it ended with %d and wrote:\n%s", status, f.Output())
		}
	})
}
