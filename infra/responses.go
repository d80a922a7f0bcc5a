package main

import (
	"encoding/json"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// response is what the gateway answers by itself, in berth's words.
type response struct {
	of     awsapigateway.ResponseType
	code   berth.Code
	detail string
}

// responses are the gateway's own answers.
func responses() []response {
	const internal = "berth is not set up well; the gateway's log has it under the request id"
	return []response{
		{awsapigateway.ResponseType_DEFAULT_4XX(), berth.CodeMalformed, "the gateway cannot read the request"},
		{awsapigateway.ResponseType_DEFAULT_5XX(), berth.CodeInternal, internal},
		// Where IAM's signatures are not asked for, it means an unknown path.
		{awsapigateway.ResponseType_MISSING_AUTHENTICATION_TOKEN(), berth.CodeNotFound, "the API has no such path, or the path does not take the method"},
		{awsapigateway.ResponseType_RESOURCE_NOT_FOUND(), berth.CodeNotFound, "the API has no such path"},
		{awsapigateway.ResponseType_UNAUTHORIZED(), berth.CodeUnauthenticated, "the bearer token is missing, not known, expired or removed"},
		{awsapigateway.ResponseType_INVALID_SIGNATURE(), berth.CodeUnauthenticated, "the Authorization header must be Bearer and one token"},
		{awsapigateway.ResponseType_EXPIRED_TOKEN(), berth.CodeUnauthenticated, "the token expired"},
		{awsapigateway.ResponseType_ACCESS_DENIED(), berth.CodeForbidden, "the key does not allow this"},
		{awsapigateway.ResponseType_INVALID_API_KEY(), berth.CodeForbidden, "the gateway does not know the key in x-api-key"},
		{awsapigateway.ResponseType_WAF_FILTERED(), berth.CodeForbidden, "the firewall turned the request down"},
		{awsapigateway.ResponseType_REQUEST_TOO_LARGE(), berth.CodeTooLarge, "the request is larger than the gateway takes"},
		{awsapigateway.ResponseType_UNSUPPORTED_MEDIA_TYPE(), berth.CodeUnsupportedMedia, "the gateway does not take that media type"},
		{awsapigateway.ResponseType_THROTTLED(), berth.CodeRateLimited, "there are too many requests at once"},
		{awsapigateway.ResponseType_QUOTA_EXCEEDED(), berth.CodeRateLimited, "the quota of the key in x-api-key is used up"},
		{awsapigateway.ResponseType_INTEGRATION_TIMEOUT(), berth.CodeTimedOut, "berth took longer than the gateway waits"},
		{awsapigateway.ResponseType_INTEGRATION_FAILURE(), berth.CodeUnavailable, "berth's function did not answer"},
		{awsapigateway.ResponseType_AUTHORIZER_FAILURE(), berth.CodeUnavailable, "the key could not be looked up"},
		{awsapigateway.ResponseType_AUTHORIZER_CONFIGURATION_ERROR(), berth.CodeInternal, internal},
		{awsapigateway.ResponseType_API_CONFIGURATION_ERROR(), berth.CodeInternal, internal},
	}
}

// newResponses makes the gateway answer with problem documents.
func newResponses(api awsapigateway.RestApi) {
	for _, r := range responses() {
		info := r.code.Info()
		headers := map[string]*string{"Content-Type": text("'application/problem+json'")}
		switch r.code {
		case berth.CodeUnauthenticated:
			headers["WWW-Authenticate"] = text("'Bearer'")
		case berth.CodeRateLimited, berth.CodeUnavailable:
			headers["Retry-After"] = text("'1'")
		}
		api.AddGatewayResponse(r.of.ResponseType(), &awsapigateway.GatewayResponseOptions{
			Type: r.of, StatusCode: text(strconv.Itoa(info.HTTP)), ResponseHeaders: &headers,
			Templates: &map[string]*string{"application/json": text(r.document())},
		})
	}
}

// document is the answer's body, in which the gateway fills in the request's id.
func (r response) document() string {
	info := r.code.Info()
	document, err := json.Marshal(httpapi.ProblemDocument{
		Type: "about:blank", Title: info.Title, Status: info.HTTP, Detail: r.detail, Code: r.code,
		RequestID: "$context.requestId", Errors: []berth.Problem{},
	})
	if err != nil { // texts and a number can always be written
		panic(err)
	}
	return string(document)
}
