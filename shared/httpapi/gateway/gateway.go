// Package gateway answers API Gateway proxy events (REST API, payload 1.0) with
// the API's handler, and takes care of what the proxy adapter does not.
package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// Handler is what lambda.Start takes.
type Handler func(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)

// New makes the handler of events from the handler of requests. It never returns
// an error: the gateway would show it as a 502 without a word.
func New(h http.Handler) Handler {
	adapter := httpadapter.New(answering{h})
	return func(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		clean(&event)
		if fault := malformed(event); fault != "" {
			return refuse(event.RequestContext.RequestID, berth.CodeMalformed, fault), nil
		}
		event.Path = escaped(event.Path)
		reply, err := adapter.ProxyWithContext(ctx, event)
		if err != nil {
			return refuse(event.RequestContext.RequestID, berth.CodeMalformed, "the request cannot be read"), nil
		}
		return reply, nil
	}
}

// answering answers 204 for a handler that writes nothing, where the adapter
// would fail.
type answering struct{ http.Handler }

func (a answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &notingWriter{ResponseWriter: w}
	a.Handler.ServeHTTP(noted, r)
	if !noted.written {
		w.WriteHeader(http.StatusNoContent)
	}
}

type notingWriter struct {
	http.ResponseWriter
	written bool
}

func (n *notingWriter) WriteHeader(status int) {
	n.written = true
	n.ResponseWriter.WriteHeader(status)
}

func (n *notingWriter) Write(b []byte) (int, error) {
	n.written = true
	return n.ResponseWriter.Write(b)
}

// clean drops headers that look as if the adapter had set them: identity is read
// from the event's own context alone.
func clean(event *events.APIGatewayProxyRequest) {
	forged := func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "x-golambdaproxy-") }
	for name := range event.Headers {
		if forged(name) {
			delete(event.Headers, name)
		}
	}
	for name := range event.MultiValueHeaders {
		if forged(name) {
			delete(event.MultiValueHeaders, name)
		}
	}
}

// malformed says what keeps an event from being a request.
func malformed(event events.APIGatewayProxyRequest) string {
	if event.IsBase64Encoded {
		if _, err := base64.StdEncoding.DecodeString(event.Body); err != nil {
			return "the request's body is not base64, as the gateway says it is"
		}
	}
	if _, err := url.PathUnescape(event.Path); err != nil {
		return "the path holds a bad escape: write %XX with two hex digits"
	}
	return ""
}

// escaped keeps characters of a path from being read as the end of it.
func escaped(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c == '?' || c == '#' || c <= ' ' || c >= 0x7f {
			b.WriteString(url.PathEscape(path[i : i+1]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func refuse(requestID string, code berth.Code, detail string) events.APIGatewayProxyResponse {
	info := code.Info()
	body, _ := json.Marshal(httpapi.ProblemDocument{
		Type: "about:blank", Title: info.Title, Status: info.HTTP, Detail: detail, Code: code, RequestID: requestID, Errors: []berth.Problem{},
	})
	return events.APIGatewayProxyResponse{
		StatusCode: info.HTTP, Body: string(body),
		MultiValueHeaders: http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {requestID}},
	}
}
