package main

import (
	"encoding/json"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
)

// stageName is the first part of every path behind the gateway's own address.
const stageName = "v1"

// The most requests that the API takes, a second and at once.
const (
	rateLimit  = 100
	burstLimit = 200
)

// newGateway makes the REST API without its methods.
func newGateway(stack awscdk.Stack, c *config) awsapigateway.RestApi {
	props := &awsapigateway.RestApiProps{
		RestApiName:   text(c.name("api")),
		Description:   text("berth, installation " + c.installation),
		EndpointTypes: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		// Everything goes to and from the functions as bytes.
		BinaryMediaTypes: texts("*/*"),
		// The gateway logs as the role that is set once an account and region. It
		// stays, for other APIs may use it.
		CloudWatchRole: yes(), CloudWatchRoleRemovalPolicy: awscdk.RemovalPolicy_RETAIN,
		DeployOptions: &awsapigateway.StageOptions{
			StageName: text(stageName), TracingEnabled: yes(),
			ThrottlingRateLimit: number(rateLimit), ThrottlingBurstLimit: number(burstLimit),
			// Bodies and headers hold keys and secrets: they are not logged.
			LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, DataTraceEnabled: no(),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(
				newLogGroup(stack, "AccessLogs", "/berth/"+c.installation+"/access")),
			AccessLogFormat: awsapigateway.AccessLogFormat_Custom(text(accessLog())),
		},
	}
	if c.domain != "" {
		props.DomainName = &awsapigateway.DomainNameOptions{
			DomainName:     text(c.domain),
			Certificate:    awscertificatemanager.Certificate_FromCertificateArn(stack, text("Certificate"), text(c.certificate)),
			EndpointType:   awsapigateway.EndpointType_REGIONAL,
			SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
		}
	}
	api := awsapigateway.NewRestApi(stack, text("API"), props)
	accept(api, "AwsSolutions-APIG2", "Each operation checks its own input, in full and with every fault at its place.")
	accept(api, "AwsSolutions-IAM4", "The role that the gateway logs as is an account's one role for it, with the policy that AWS made for that.")
	if c.firewall == "" {
		accept(api, "AwsSolutions-APIG3", "A web ACL costs by the month and by the request: it is there by the context waf.")
	}
	return api
}

// accessLog is a line of the access log: nothing of bodies, headers and queries.
func accessLog() string {
	line, err := json.Marshal(map[string]string{
		"request": "$context.requestId", "time": "$context.requestTimeEpoch", "method": "$context.httpMethod",
		"path": "$context.path", "route": "$context.resourcePath", "status": "$context.status",
		"key": "$context.authorizer.principalId", "ip": "$context.identity.sourceIp", "agent": "$context.identity.userAgent",
		"bytes": "$context.responseLength", "milliseconds": "$context.responseLatency",
		"function_milliseconds": "$context.integration.latency", "error": "$context.error.message",
	})
	if err != nil { // texts can always be written
		panic(err)
	}
	return string(line)
}

// newUsagePlan bounds those who are given a key of the gateway's own, beside
// berth's: nobody needs one.
func newUsagePlan(stack awscdk.Stack, c *config, api awsapigateway.RestApi) {
	awsapigateway.NewUsagePlan(stack, text("UsagePlan"), &awsapigateway.UsagePlanProps{
		Name: text(c.name("api")), Description: text("berth, installation " + c.installation),
		ApiStages: &[]*awsapigateway.UsagePlanPerApiStage{{Api: api, Stage: api.DeploymentStage()}},
		Throttle:  &awsapigateway.ThrottleSettings{RateLimit: number(rateLimit), BurstLimit: number(burstLimit)},
	})
}
