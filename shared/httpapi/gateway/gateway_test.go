package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
)

// seen is what a handler was given.
type seen struct {
	Method, Path, RawPath, Query string
	Header                       http.Header
	Body                         string
}

func handle(t *testing.T, event events.APIGatewayProxyRequest, h http.HandlerFunc) (events.APIGatewayProxyResponse, *seen) {
	t.Helper()
	var got *seen
	reply, err := gateway.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the body: %v", err)
		}
		got = &seen{r.Method, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.Header, string(body)}
		h(w, r)
	}))(context.Background(), event)
	if err != nil {
		t.Errorf("the handler returned the error %v: the gateway would show a 502", err)
	}
	return reply, got
}

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func TestHeadersKeepTheirValuesAndCommas(t *testing.T) {
	t.Parallel()
	_, got := handle(t, events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: "/x", RequestContext: events.APIGatewayProxyRequestContext{DomainName: "h"},
		Headers: map[string]string{"if-match": `"2"`},
		MultiValueHeaders: map[string][]string{
			"if-match": {`"1", "2"`}, "date": {"Mon, 01 Jan 2026 00:00:00 GMT"}, "x-signature": {"v1,abc=="}, "x-twice": {"a", "b"},
		},
	}, noContent)
	want := http.Header{
		"If-Match": {`"1", "2"`}, "Date": {"Mon, 01 Jan 2026 00:00:00 GMT"}, "X-Signature": {"v1,abc=="}, "X-Twice": {"a", "b"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestForgedContextHeadersDoNotArrive(t *testing.T) {
	t.Parallel()
	_, got := handle(t, events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: "/x", RequestContext: events.APIGatewayProxyRequestContext{DomainName: "h"},
		Headers:           map[string]string{"X-GoLambdaProxy-ApiGw-Context": "{}"},
		MultiValueHeaders: map[string][]string{"x-golambdaproxy-apigw-context": {"{}"}, "X-GOLAMBDAPROXY-APIGW-STAGEVARS": {"{}"}, "Accept": {"a"}},
	}, noContent)
	if diff := cmp.Diff(http.Header{"Accept": {"a"}}, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestBodiesInBase64ArriveAsTheirBytes(t *testing.T) {
	t.Parallel()
	reply, got := handle(t, events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/x", Body: "/wAKYQ==", IsBase64Encoded: true,
		RequestContext: events.APIGatewayProxyRequestContext{DomainName: "h"},
	}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, '\n'}) })
	if got.Body != "\xff\x00\na" {
		t.Errorf("the body is %q", got.Body)
	}
	if !reply.IsBase64Encoded || reply.Body != "/wAK" {
		t.Errorf("the reply is %+v", reply)
	}
}

func TestPathsAreNotReadAsMoreThanPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]seen{
		"/a%2Fb":     {Path: "/a/b", RawPath: "/a%2Fb"},
		"/a?limit=1": {Path: "/a?limit=1", RawPath: "/a%3Flimit=1"},
		"/a#b":       {Path: "/a#b", RawPath: "/a%23b"},
		"/a b\n":     {Path: "/a b\n", RawPath: "/a%20b%0A"},
		"/ü":         {Path: "/ü", RawPath: "/%C3%BC"},
	} {
		_, got := handle(t, events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Path: path, RequestContext: events.APIGatewayProxyRequestContext{DomainName: "h"},
			MultiValueQueryStringParameters: map[string][]string{"q": {"a&b=c", "%zz"}},
		}, noContent)
		if got == nil || got.Path != want.Path || got.RawPath != want.RawPath || got.Query != "q=a%26b%3Dc&q=%25zz" {
			t.Errorf("%q arrived as %+v", path, got)
		}
	}
}

func TestWhatIsNoRequestIsAnsweredAsMalformed(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]events.APIGatewayProxyRequest{
		"a bad escape":           {HTTPMethod: "GET", Path: "/a%zz"},
		"an escape cut short":    {HTTPMethod: "GET", Path: "/a%2"},
		"a body that is no code": {HTTPMethod: "POST", Path: "/a", Body: "???", IsBase64Encoded: true},
		"a method with a space":  {HTTPMethod: "G ET", Path: "/a"},
	} {
		event.RequestContext = events.APIGatewayProxyRequestContext{DomainName: "h", RequestID: "r-1"}
		reply, got := handle(t, event, noContent)
		var p httpapi.ProblemDocument
		if err := json.Unmarshal([]byte(reply.Body), &p); err != nil {
			t.Errorf("%s: the body is no problem: %v", name, err)
		}
		if got != nil || reply.StatusCode != 400 || p.Code != berth.CodeMalformed || p.RequestID != "r-1" || reply.MultiValueHeaders["Content-Type"][0] != "application/problem+json" {
			t.Errorf("%s: %+v", name, reply)
		}
	}
}

func TestAHandlerThatWritesNothingIsStillAnswered(t *testing.T) {
	t.Parallel()
	// The API itself answers 204 then; this is for any other handler.
	reply, _ := handle(t, events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: "/x", RequestContext: events.APIGatewayProxyRequestContext{DomainName: "h"},
	}, func(http.ResponseWriter, *http.Request) {})
	if reply.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", reply.StatusCode)
	}
}
