package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// method is a method of the API as the template has it.
type method struct {
	Operation  string
	Function   string // kind/name
	Authorizer string // its type and, where it has one, who it is
}

// methods are those of the API by method and path.
func methods(t *testing.T, s *synthesis) map[string]method {
	t.Helper()
	resources := s.stacks["api"].Resources
	var pathOf func(reference any) string
	pathOf = func(reference any) string {
		id, ok := reference.(map[string]any)["Ref"].(string)
		if !ok {
			return "" // the root
		}
		r := resources[id]
		return pathOf(r.Properties["ParentId"]) + "/" + r.Properties["PathPart"].(string)
	}
	found := map[string]method{}
	for id, r := range s.all("AWS::ApiGateway::Method") {
		p := r.Properties
		integration := p["Integration"].(map[string]any)
		if integration["Type"] != "AWS_PROXY" || integration["IntegrationHttpMethod"] != "POST" || integration["TimeoutInMillis"] != 29000.0 {
			t.Errorf("%s is integrated by %v", id, integration)
		}
		m := method{Operation: fmt.Sprint(p["OperationName"]), Authorizer: fmt.Sprint(p["AuthorizationType"])}
		if of := p["AuthorizerId"]; of != nil {
			m.Authorizer += " " + flat(of)
		}
		for function, f := range resources {
			if f.Type == "AWS::Lambda::Function" && strings.Contains(fmt.Sprint(integration["Uri"]), "["+function+" Arn]") {
				m.Function = programOf(t, f)
			}
		}
		found[fmt.Sprint(p["HttpMethod"], " ", pathOf(p["ResourceId"]))] = m
	}
	return found
}

func TestEveryRouteIsAMethodWithItsFunctionAndAuthorizer(t *testing.T) {
	want := map[string]method{}
	for _, r := range httpapi.Routes {
		if r.Embedded {
			continue
		}
		m := method{Operation: r.ID, Function: "api/" + r.ID, Authorizer: "CUSTOM {Keys}"}
		if r.Scope == berth.ScopeNone {
			m.Authorizer = "NONE"
		}
		want[r.Method+" "+httpapi.Prefix+r.Path] = m
	}
	if diff := cmp.Diff(want, methods(t, deployed(t))); diff != "" {
		t.Errorf("routes (-) and methods (+):\n%s", diff)
	}
}

func TestTheGatewayMayCallEachFunctionOnceAndNobodyElseMay(t *testing.T) {
	s := deployed(t)
	calls := map[string]int{}
	for id, p := range s.all("AWS::Lambda::Permission") {
		of := p.Properties["FunctionName"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
		function := programOf(t, s.stacks[p.Stack].Resources[of])
		calls[function]++
		principal, source := p.Properties["Principal"], flat(p.Properties["SourceArn"])
		want := "apigateway.amazonaws.com"
		if function == "events/sweeper" {
			want = "events.amazonaws.com"
		}
		if principal != want || source == "" || strings.Contains(source, "test-invoke-stage") {
			t.Errorf("%s lets %v call %s from %q", id, principal, function, source)
		}
	}
	for _, function := range slices.Sorted(maps.Keys(s.functionsByName(t))) {
		want := 1
		switch {
		case strings.HasPrefix(function, "runner/"), function == "events/bootstrap":
			want = 0 // called by a role, and by the account's own people
		case function == "events/sweeper":
			want = 2 // two rules
		}
		if calls[function] != want {
			t.Errorf("%d permissions let others call %s, want %d", calls[function], function, want)
		}
	}
}

func TestTheAuthorizerReadsTheTokenAndIsRememberedForAMinute(t *testing.T) {
	p := deployed(t).one(t, "AWS::ApiGateway::Authorizer").Properties
	got := []any{p["Type"], p["IdentitySource"], p["AuthorizerResultTtlInSeconds"]}
	if diff := cmp.Diff([]any{"TOKEN", "method.request.header.Authorization", 60.0}, got); diff != "" {
		t.Errorf("the authorizer (-want +got):\n%s", diff)
	}
}

func TestTheStageIsThrottledTracedAndLoggedWithoutContents(t *testing.T) {
	s := deployed(t)
	stage := s.one(t, "AWS::ApiGateway::Stage").Properties
	if stage["StageName"] != "v1" || stage["TracingEnabled"] != true || stage["AccessLogSetting"] == nil {
		t.Errorf("the stage is %v", stage)
	}
	for _, word := range []string{"header", "body", "querystring", "Authorization", "input.params"} {
		if format := flat(stage["AccessLogSetting"]); strings.Contains(format, word) {
			t.Errorf("the access log has %s: %s", word, format)
		}
	}
	settings := stage["MethodSettings"].([]any)[0].(map[string]any)
	want := map[string]any{
		"HttpMethod": "*", "ResourcePath": "/*", "LoggingLevel": "ERROR", "DataTraceEnabled": false,
		"ThrottlingRateLimit": 100.0, "ThrottlingBurstLimit": 200.0,
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("settings of methods (-want +got):\n%s", diff)
	}
	if api := s.one(t, "AWS::ApiGateway::RestApi").Properties; !cmp.Equal(api["BinaryMediaTypes"], []any{"*/*"}) {
		t.Errorf("the API has the binary types %v", api["BinaryMediaTypes"])
	}
}
