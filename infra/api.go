package main

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// apiStack has the HTTP API.
type apiStack struct {
	stack     awscdk.Stack
	api       awsapigateway.RestApi
	functions map[string]awslambda.Function // by operation
}

// apiTimeout is that of the gateway, which waits no longer for a function.
const apiTimeout = 29 * time.Second

func newAPIStack(app awscdk.App, c *config, data *dataStack, runner *runnerStack) (*apiStack, error) {
	s := &apiStack{
		stack:     newStack(app, c, "api", "the HTTP API"),
		functions: map[string]awslambda.Function{},
	}
	s.stack.AddStackDependency(runner.stack, text("a run that is created is started"))
	f := newFunctions(s.stack, c, data, "api")
	s.api = newGateway(s.stack, c)
	authorizer := newAuthorizer(s.stack, f)
	for _, route := range apiRoutes() {
		set, ok := operations[route.ID]
		if !ok {
			return nil, fmt.Errorf("operation %s has no permission set: give it one in infra/permissions.go", route.ID)
		}
		function := f.make(program{
			kind: kindAPI, name: route.ID, set: set, timeout: apiTimeout, memoryMiB: memoryOf(set),
			summary: route.Method + " " + httpapi.Prefix + route.Path,
		})
		s.functions[route.ID] = function
		newMethod(s.api, authorizer, route, function)
	}
	newBootstrap(f)
	newResponses(s.api)
	newUsagePlan(s.stack, c, s.api)
	newFirewall(s.stack, c, s.api)
	alarmAPI(s, c, data)
	newDashboard(s, c, data)
	outputAddress(s.stack, c, s.api)
	return s, nil
}

// memoryOf gives those that carry files room for them.
func memoryOf(set permissionSet) int {
	if set.has(writeTransfers) {
		return middling
	}
	return small
}

// newMethod puts a function behind a method of the API. What has scope none asks
// no authorizer.
func newMethod(api awsapigateway.RestApi, authorizer awsapigateway.IAuthorizer, route httpapi.Route, function awslambda.Function) {
	options := &awsapigateway.MethodOptions{
		OperationName: text(route.ID), AuthorizationType: awsapigateway.AuthorizationType_CUSTOM, Authorizer: authorizer,
	}
	if route.Scope == berth.ScopeNone {
		options.AuthorizationType, options.Authorizer = awsapigateway.AuthorizationType_NONE, nil
	}
	method := api.Root().ResourceForPath(text(httpapi.Prefix+route.Path)).AddMethod(text(route.Method),
		awsapigateway.NewLambdaIntegration(function, &awsapigateway.LambdaIntegrationOptions{
			Proxy: yes(), AllowTestInvoke: no(), Timeout: lasting(apiTimeout),
		}), options)
	accept(method, "AwsSolutions-COG4", "Keys are berth's own, looked up by a Lambda authorizer; scopes are checked by each operation.")
	if route.Scope == berth.ScopeNone {
		accept(method, "AwsSolutions-APIG4", "The route table has the scope none for it: it tells nothing of the installation's data, or checks a token of its own.")
	}
}

// outputAddress says where the API is.
func outputAddress(s awscdk.Stack, c *config, api awsapigateway.RestApi) {
	address := text(fmt.Sprintf("https://%s.execute-api.%s.%s/%s", *api.RestApiId(), *s.Region(), *s.UrlSuffix(), stageName))
	if domain := api.DomainName(); domain != nil {
		address = text("https://" + c.domain)
		output(s, "DomainTarget", domain.DomainNameAliasDomainName(), "What the domain's DNS record (CNAME) points to")
	}
	output(s, "URL", address, "The API's address: berth login URL")
	output(s, "API", api.RestApiId(), "The id of the REST API")
}
