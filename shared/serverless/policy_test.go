package serverless_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

// arnOf is what the gateway checks a policy for when a route is asked.
func arnOf(route httpapi.Route) string {
	path := strings.NewReplacer("{id}", "01jd3v6d0x2m5p8q9r7s4t1v0w", "{name}", "TOKEN", "{cid}", "build").Replace(route.Path)
	return "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3/v1/" + route.Method + httpapi.Prefix + path
}

// allows reads a policy as the gateway does: * stands for anything, ? for one character.
func allows(policy events.APIGatewayCustomAuthorizerPolicy, arn string) bool {
	for _, s := range policy.Statement {
		for _, resource := range s.Resource {
			pattern := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(resource))
			if s.Effect == "Allow" && regexp.MustCompile("^"+pattern+"$").MatchString(arn) {
				return true
			}
		}
	}
	return false
}

// The gateway keeps the policy that it was given for a key's first request and
// takes it for those to other routes, for a minute.
func TestAPolicyKeptForOneRouteAllowsEveryOther(t *testing.T) {
	t.Parallel()
	handle := serverless.Authorizer(holders{"known": reader}, quiet)
	for _, first := range httpapi.Routes {
		reply, err := handle(t.Context(), events.APIGatewayCustomAuthorizerRequest{Type: "TOKEN", AuthorizationToken: "Bearer known", MethodArn: arnOf(first)})
		if err != nil {
			t.Fatal(err)
		}
		for _, second := range httpapi.Routes {
			if !allows(reply.PolicyDocument, arnOf(second)) {
				t.Errorf("the policy made for %s keeps its key from %s", first.ID, second.ID)
			}
		}
		for _, other := range []string{
			strings.Replace(arnOf(first), "/v1/", "/v2/", 1), strings.Replace(arnOf(first), "a1b2c3", "another", 1), strings.Replace(arnOf(first), "123456789012", "210987654321", 1),
		} {
			if allows(reply.PolicyDocument, other) {
				t.Errorf("the policy made for %s allows %s", first.ID, other)
			}
		}
	}
}

// What a kept policy allows, each function still checks by the key's scopes.
func TestAKeptPolicyGivesNoScope(t *testing.T) {
	t.Parallel()
	said, err := authorize("Bearer known")
	if err != nil {
		t.Fatal(err)
	}
	w, err := serverless.Open(lookup(whole()))
	if err != nil {
		t.Fatal(err)
	}
	w.Logger = quiet
	for _, route := range httpapi.Routes {
		if route.Embedded || route.Scope != "admin" && route.Scope != "run" && route.Scope != "host" {
			continue
		}
		api, err := httpapi.Operation(route.ID, w.API())
		if err != nil {
			t.Fatal(err)
		}
		_, path, _ := strings.Cut(arnOf(route), route.Method)
		reply, err := gateway.New(api)(t.Context(), events.APIGatewayProxyRequest{
			HTTPMethod: route.Method, Path: path, RequestContext: events.APIGatewayProxyRequestContext{Authorizer: said.Context},
		})
		if err != nil || reply.StatusCode != 403 {
			t.Errorf("%s for a read key: %d, %v, want 403", route.ID, reply.StatusCode, err)
		}
	}
}
