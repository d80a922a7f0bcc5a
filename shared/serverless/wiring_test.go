package serverless_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

// whole is an environment with which functions start.
func whole() map[string]string {
	return map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
		"BERTH_TABLE": "table", "BERTH_BUCKET": "bucket", "BERTH_INSTALLATION": "test",
		"BERTH_STATE_MACHINE": "arn:aws:states:eu-west-1:123456789012:stateMachine:berth-runs",
	}
}

func lookup(variables map[string]string) serverless.Lookup {
	return func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
}

func TestAFunctionDoesNotStartWithoutAVariableAndNamesIt(t *testing.T) {
	t.Parallel()
	for name := range whole() {
		for what, change := range map[string]func(map[string]string){
			"missing": func(m map[string]string) { delete(m, name) },
			"empty":   func(m map[string]string) { m[name] = "" },
		} {
			variables := whole()
			change(variables)
			_, err := serverless.Open(lookup(variables))
			if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), name) {
				t.Errorf("with %s %s: Open = %v, want invalid that names it", name, what, err)
			}
		}
	}
	_, err := serverless.Open(lookup(nil))
	for _, name := range slices.Sorted(maps.Keys(whole())) {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without any variable: Open = %v, want it to name %s too", err, name)
		}
	}
}

func TestVariablesThatCannotBeRightAreNamed(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"BERTH_STATE_MACHINE": {"berth-runs", "arn:aws:lambda:eu-west-1:1:function:f"},
		"BERTH_INSTALLATION":  {"a/b", "UPPER", "-", strings.Repeat("x", 64)},
		"BERTH_MAX_LIVE_RUNS": {"-1", "many", "1.5"},
	} {
		for _, value := range values {
			variables := whole()
			variables[name] = value
			if _, err := serverless.Open(lookup(variables)); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), name) {
				t.Errorf("with %s=%s: Open = %v, want invalid that names it", name, value, err)
			}
		}
	}
}

func TestOptionalVariablesReachTheWiring(t *testing.T) {
	t.Parallel()
	variables := whole()
	variables["BERTH_MAX_LIVE_RUNS"], variables["BERTH_PUBLIC_URL"] = "7", "https://api.example.com"
	w, err := serverless.Open(lookup(variables))
	if err != nil {
		t.Fatal(err)
	}
	if r := w.Runner(); r.MaxLiveRuns != 7 || r.FollowQuiet == 0 || r.FollowTotal == 0 || r.FlushEvery != time.Second || r.Installation != "test" {
		t.Errorf("the runner is %+v", r)
	}
	if api := w.API(); api.PublicURL != "https://api.example.com" || api.Embedded || api.Version.Installation != "test" {
		t.Errorf("the API has %s, %v, %+v", api.PublicURL, api.Embedded, api.Version)
	}
}

func TestATaskThatTheMachineDoesNotHaveIsNone(t *testing.T) {
	t.Parallel()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Task("Follow"); err != nil {
		t.Errorf("Task(Follow) = %v", err)
	}
	if _, err := w.Task("follow"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Task(follow) = %v, want not_found", err)
	}
}

func TestTheLocalProviderIsOffWithTheReason(t *testing.T) {
	t.Parallel()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Runner().Providers.Find(berth.ProviderLocal)
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != berth.CodeUnsupported || !strings.Contains(coded.Message, "on AWS") {
		t.Errorf("Find(local) = %v, want unsupported that says why", err)
	}
}

// holders are the keys of these tests.
type holders map[string]berth.Principal

func (h holders) Authenticate(_ context.Context, token string) (berth.Principal, error) {
	if token == "broken" {
		return berth.Principal{}, berth.Errorf(berth.CodeUnavailable, "the table does not answer")
	}
	who, ok := h[token]
	if !ok {
		return who, berth.Errorf(berth.CodeUnauthenticated, "the token is not known, or has expired")
	}
	return who, nil
}

var reader = berth.Principal{Name: "ci", Key: "01jd3v6d2c9q1s3t5w7y9a1c3e", Scopes: []berth.Scope{berth.ScopeRead}}

var quiet = slog.New(slog.DiscardHandler)

const method = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3/v1/GET/api/v1/environments/ci"

func authorize(token string) (events.APIGatewayCustomAuthorizerResponse, error) {
	handle := serverless.Authorizer(holders{"known": reader}, slog.New(slog.DiscardHandler))
	return handle(context.Background(), events.APIGatewayCustomAuthorizerRequest{Type: "TOKEN", AuthorizationToken: token, MethodArn: method})
}

func TestTheAuthorizerAllowsTheWholeAPIForAKnownKey(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"Bearer known", "bearer known"} {
		reply, err := authorize(token)
		if err != nil {
			t.Fatal(err)
		}
		want := events.APIGatewayCustomAuthorizerPolicy{Version: "2012-10-17", Statement: []events.IAMPolicyStatement{{
			Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{"arn:aws:execute-api:eu-west-1:123456789012:a1b2c3/v1/*"},
		}}}
		if diff := cmp.Diff(want, reply.PolicyDocument); diff != "" || reply.PrincipalID != string(reader.Key) {
			t.Errorf("for %s as %q, policy (-want +got):\n%s", token, reply.PrincipalID, diff)
		}
		for name, value := range reply.Context {
			if _, ok := value.(string); !ok {
				t.Errorf("the context's %s is %T, which the gateway refuses", name, value)
			}
		}
	}
}

func TestTheAuthorizerSaysUnauthorizedToEveryOtherKey(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "known", "Bearer", "Bearer ", "Bearer unknown", "Basic known", "Bearer known known", "Bearer KNOWN"} {
		if reply, err := authorize(token); err == nil || err.Error() != "Unauthorized" || len(reply.PolicyDocument.Statement) != 0 {
			t.Errorf("for %q: %+v, %v, want the error Unauthorized", token, reply, err)
		}
	}
	if _, err := authorize("Bearer broken"); err == nil || err.Error() == "Unauthorized" {
		t.Errorf("when the key cannot be looked up: %v, want another error than Unauthorized", err)
	}
}

// whoami asks the operation that tells who asks, as the gateway does.
func whoami(t *testing.T, event events.APIGatewayProxyRequest) (int, berth.Principal) {
	t.Helper()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	w.Logger = slog.New(slog.DiscardHandler)
	api, err := httpapi.Operation("find-principal", w.API())
	if err != nil {
		t.Fatal(err)
	}
	event.HTTPMethod, event.Path = "GET", httpapi.Prefix+"/whoami"
	reply, err := gateway.New(api)(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	var who berth.Principal
	if err := json.Unmarshal([]byte(reply.Body), &who); err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, who
}

func TestAFunctionKnowsWhoTheAuthorizerSaysItIs(t *testing.T) {
	t.Parallel()
	said, err := authorize("Bearer known")
	if err != nil {
		t.Fatal(err)
	}
	status, who := whoami(t, events.APIGatewayProxyRequest{
		RequestContext: events.APIGatewayProxyRequestContext{Authorizer: said.Context},
		Headers:        map[string]string{"Authorization": "Bearer known"},
	})
	if diff := cmp.Diff(reader, who); status != 200 || diff != "" {
		t.Errorf("status %d, principal (-want +got):\n%s", status, diff)
	}
}

func TestAForgedContextChangesNothing(t *testing.T) {
	t.Parallel()
	forged := `{"authorizer":{"principal":"{\"name\":\"root\",\"scopes\":[\"admin\"]}"}}`
	status, who := whoami(t, events.APIGatewayProxyRequest{
		Headers:           map[string]string{"X-GoLambdaProxy-ApiGw-Context": forged, "Principal": "root"},
		MultiValueHeaders: map[string][]string{"x-golambdaproxy-apigw-context": {forged}, "principal": {"root"}},
	})
	if status != 401 || who.Name == "root" {
		t.Errorf("a forged context is answered with %d as %+v, want 401", status, who)
	}
	for name, principal := range map[string]any{"empty": "", "of nobody": `{"scopes":["admin"]}`, "no text": 7, "no JSON": "root"} {
		status, _ := whoami(t, events.APIGatewayProxyRequest{
			RequestContext: events.APIGatewayProxyRequestContext{Authorizer: map[string]any{"principal": principal}},
		})
		if status != 500 {
			t.Errorf("a context that is %s is answered with %d, want 500", name, status)
		}
	}
}

func TestLogLinesCarryTheInvocation(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	serverless.LogTo(&b).With("task", "Follow").InfoContext(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-7"}), "swept")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["invocation"] != "request-7" || line["task"] != "Follow" {
		t.Errorf("the line is %s, %v", b.String(), err)
	}
}

// logged lets the health check answer an event of the gateway and log to b.
func logged(t *testing.T, b *bytes.Buffer) {
	t.Helper()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	w.Logger = serverless.LogTo(b)
	api, err := httpapi.Operation("find-health", w.API())
	if err != nil {
		t.Fatal(err)
	}
	reply, err := gateway.New(api)(t.Context(), events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: httpapi.Prefix + "/health", RequestContext: events.APIGatewayProxyRequestContext{RequestID: "gateway-7"},
	})
	if err != nil || reply.StatusCode != 200 {
		t.Fatalf("health is answered with %d, %v", reply.StatusCode, err)
	}
}
