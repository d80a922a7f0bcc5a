package httpapitest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/berth-dev/berth/shared/httpapi/gateway"
)

func asEvents(t *testing.T, h http.Handler) Do {
	handle := gateway.New(h)
	return func(r Request) Response {
		t.Helper()
		reply, err := handle(t.Context(), Event(t, r))
		if err != nil {
			t.Fatalf("%s %s as an event: %v", r.Method, r.Path, err)
		}
		return FromEvent(t, reply)
	}
}

// Event is the proxy event that the gateway makes of a request.
func Event(t *testing.T, r Request) events.APIGatewayProxyRequest {
	t.Helper()
	event := events.APIGatewayProxyRequest{
		HTTPMethod: r.Method, Path: r.Path, Headers: map[string]string{}, MultiValueHeaders: map[string][]string{},
		MultiValueQueryStringParameters: r.Query,
		RequestContext:                  events.APIGatewayProxyRequestContext{DomainName: Host, RequestID: "gateway-request"},
	}
	for name, values := range r.Header {
		event.Headers[name] = values[len(values)-1]
		event.MultiValueHeaders[name] = values
	}
	if len(r.Body) > 0 {
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(r.Body), true
	}
	return roundTrip(t, event)
}

// roundTrip sends a value through JSON, as every event goes.
func roundTrip[T any](t *testing.T, v T) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("an event did not survive JSON: %v", err)
	}
	return out
}

// FromEvent is the response that the gateway makes of a reply.
func FromEvent(t *testing.T, reply events.APIGatewayProxyResponse) Response {
	t.Helper()
	reply = roundTrip(t, reply)
	body := []byte(reply.Body)
	if reply.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(reply.Body)
		if err != nil {
			t.Fatalf("the reply's body is no base64: %v", err)
		}
		body = decoded
	}
	header := http.Header{}
	for name, values := range reply.MultiValueHeaders {
		header[name] = values
	}
	if len(header) == 0 {
		for name, value := range reply.Headers {
			header.Set(name, value)
		}
	}
	return Response{reply.StatusCode, header, body}
}
