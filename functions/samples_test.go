package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// sampleEvent is what the gateway makes of a request, in the fields that matter
// and in the gateway's order.
type sampleEvent struct {
	Resource                        string              `json:"resource"`
	Path                            string              `json:"path"`
	HTTPMethod                      string              `json:"httpMethod"`
	Headers                         map[string]string   `json:"headers"`
	MultiValueHeaders               map[string][]string `json:"multiValueHeaders"`
	QueryStringParameters           map[string]string   `json:"queryStringParameters"`
	MultiValueQueryStringParameters map[string][]string `json:"multiValueQueryStringParameters"`
	PathParameters                  map[string]string   `json:"pathParameters"`
	RequestContext                  map[string]any      `json:"requestContext"`
	Body                            *string             `json:"body"`
	IsBase64Encoded                 bool                `json:"isBase64Encoded"`
}

// Who asks in the samples: a key with every scope of people.
var samplePrincipal = berth.Principal{
	Name: "sample", Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}, Key: "01jd3v6d2c9q1s3t5w7y9a1c3e",
}

// Who asks where only a host may.
var sampleHost = berth.Principal{Name: "eu-1", Scopes: []berth.Scope{berth.ScopeHost}, Host: "eu-1", Key: "01jd3v6d2c9q1s3t5w7y9a1c3e"}

// TestSampleEventsAreThoseOfTheDocument keeps the samples equal to the examples
// of the API's document.
func TestSampleEventsAreThoseOfTheDocument(t *testing.T) {
	document := httpapi.Document()
	for _, route := range apiRoutes() {
		checkFile(t, filepath.Join("api", route.ID, "event.json"), sampleOf(t, document, route))
	}
	for _, task := range tasks() {
		checkFile(t, filepath.Join("runner", folderOf(task), "event.json"), indented(t, taskInput(task)))
	}
}

// parameter is a name in braces in a path.
var parameter = regexp.MustCompile(`\{(\w+)\}`)

func sampleOf(t *testing.T, document *huma.OpenAPI, route httpapi.Route) []byte {
	t.Helper()
	operation := operationOf(document, route)
	e := sampleEvent{
		Resource: httpapi.Prefix + route.Path, HTTPMethod: route.Method,
		Headers: map[string]string{"Host": "api.example.com"}, QueryStringParameters: map[string]string{}, PathParameters: map[string]string{},
		MultiValueHeaders: map[string][]string{}, MultiValueQueryStringParameters: map[string][]string{},
	}
	for _, p := range operation.Parameters {
		into := map[string]map[string]string{"path": e.PathParameters, "query": e.QueryStringParameters, "header": e.Headers}[p.In]
		if p.Required {
			into[p.Name] = fmt.Sprint(p.Schema.Examples[0])
		}
	}
	e.Path = parameter.ReplaceAllStringFunc(e.Resource, func(name string) string { return e.PathParameters[strings.Trim(name, "{}")] })
	if body := operation.RequestBody; body != nil {
		e.Headers["Content-Type"] = route.Takes
		text := "package main\n"
		if example := body.Content[route.Takes].Example; example != nil {
			encoded, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		e.Body = &text
	}
	context := map[string]any{
		"resourcePath": e.Resource, "path": "/v1" + e.Path, "httpMethod": e.HTTPMethod, "stage": "v1",
		"requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "domainName": "api.example.com",
		"identity": map[string]string{"sourceIp": "192.0.2.1", "userAgent": "berth"},
	}
	if route.Scope != berth.ScopeNone {
		e.Headers["Authorization"] = "Bearer bth_sample"
		who := samplePrincipal
		if route.Scope == berth.ScopeHost {
			who = sampleHost
		}
		principal, err := json.Marshal(who)
		if err != nil {
			t.Fatal(err)
		}
		context["authorizer"] = map[string]string{"principal": string(principal), "principalId": string(who.Key)}
	}
	e.RequestContext = context
	for name, value := range e.Headers {
		e.MultiValueHeaders[name] = []string{value}
	}
	for name, value := range e.QueryStringParameters {
		e.MultiValueQueryStringParameters[name] = []string{value}
	}
	return indented(t, e)
}

// taskInput is what the state machine hands to a task.
func taskInput(task string) any {
	const run = "01jd3v6d0x2m5p8q9r7s4t1v0w"
	state := map[string]any{"run": run, "execution": run + "-1", "stage": "01-command", "wait_seconds": 0, "polls": 0, "turns": 0}
	if task == "AwaitOutput" {
		return map[string]any{"state": state, "token": "AAAAKgAAAAIAAAAAAAAAAQ-sample"}
	}
	return state
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func operationOf(document *huma.OpenAPI, route httpapi.Route) *huma.Operation {
	item := document.Paths[route.Path]
	return map[string]*huma.Operation{
		"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete,
	}[route.Method]
}
