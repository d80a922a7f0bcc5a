package serverless_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

// asHost is an event of a route for whom the authorizer says that it is host eu-1.
func asHost(t *testing.T, method, path, body string) events.APIGatewayProxyRequest {
	t.Helper()
	who, err := json.Marshal(berth.Principal{Name: "eu-1", Scopes: []berth.Scope{berth.ScopeHost}, Host: "eu-1", Key: "01jd3v6d2c9q1s3t5w7y9a1c3e"})
	if err != nil {
		t.Fatal(err)
	}
	return events.APIGatewayProxyRequest{
		HTTPMethod: method, Path: path, Body: body, MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}},
		Headers:        map[string]string{"Content-Type": "application/json"},
		RequestContext: events.APIGatewayProxyRequestContext{Authorizer: map[string]any{"principal": string(who)}},
	}
}

func TestAHostIsKnownByWhatTheAuthorizerSaysAndSpeaksForItselfAlone(t *testing.T) {
	t.Parallel()
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		operation, method, path string
		status                  int
	}{
		{"beat-host", "POST", "/api/v1/hosts/eu-2/heartbeat", http.StatusForbidden},
		{"beat-host", "POST", "/api/v1/hosts/eu-1/heartbeat", http.StatusUnprocessableEntity}, // the body says nothing
		{"nudge-host", "POST", "/api/v1/hosts/eu-2/nudge", http.StatusForbidden},
		{"nudge-host", "POST", "/api/v1/hosts/eu-1/nudge", http.StatusUnprocessableEntity},
		{"remove-host", "DELETE", "/api/v1/hosts/eu-1", http.StatusForbidden},
		{"list-hosts", "GET", "/api/v1/hosts", http.StatusForbidden},
	} {
		api, err := httpapi.Operation(test.operation, w.API())
		if err != nil {
			t.Fatal(err)
		}
		reply, err := gateway.New(api)(t.Context(), asHost(t, test.method, test.path, `{}`))
		if err != nil || reply.StatusCode != test.status {
			t.Errorf("%s %s = %d %s, %v; want %d", test.method, test.path, reply.StatusCode, reply.Body, err, test.status)
		}
	}
}

func TestFunctionsTakeNoHostFromTheirOwnMachine(t *testing.T) {
	t.Parallel()
	for endpoint, loopback := range map[string]bool{"": false, "http://127.0.0.1:4566": true} {
		variables := whole()
		variables["AWS_ENDPOINT_URL"] = endpoint
		w, err := serverless.Open(lookup(variables))
		if err != nil {
			t.Fatal(err)
		}
		plane := serverless.PlaneOf(w)
		if plane.LoopbackHosts != loopback || plane.Caller == nil {
			t.Errorf("with the endpoint %q: %v, %v", endpoint, plane.LoopbackHosts, plane.Caller)
		}
		if loopback {
			continue
		}
		_, err = plane.JoinHost(t.Context(), berth.HostJoin{Address: "https://127.0.0.1:7443"})
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1 is the machine itself") {
			t.Errorf("JoinHost() = %v", err)
		}
	}
}
