package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

func TestTheGatewayAnswersInProblemDocuments(t *testing.T) {
	wanted := map[string]berth.Code{
		"DEFAULT_4XX": berth.CodeMalformed, "DEFAULT_5XX": berth.CodeInternal, "UNAUTHORIZED": berth.CodeUnauthenticated,
		"MISSING_AUTHENTICATION_TOKEN": berth.CodeNotFound, "THROTTLED": berth.CodeRateLimited, "ACCESS_DENIED": berth.CodeForbidden,
		"INTEGRATION_TIMEOUT": berth.CodeTimedOut, "REQUEST_TOO_LARGE": berth.CodeTooLarge, "AUTHORIZER_FAILURE": berth.CodeUnavailable,
	}
	for _, r := range deployed(t).all("AWS::ApiGateway::GatewayResponse") {
		name := r.Properties["ResponseType"].(string)
		decoder := json.NewDecoder(bytes.NewReader([]byte(r.Properties["ResponseTemplates"].(map[string]any)["application/json"].(string))))
		decoder.DisallowUnknownFields()
		var p httpapi.ProblemDocument
		if err := decoder.Decode(&p); err != nil {
			t.Errorf("%s: the document: %v", name, err)
			continue
		}
		info := p.Code.Info()
		if want, known := wanted[name]; known && p.Code != want {
			t.Errorf("%s has the code %s, want %s", name, p.Code, want)
		}
		delete(wanted, name)
		status, _ := json.Marshal(info.HTTP)
		if info.Code != p.Code || p.Status != info.HTTP || r.Properties["StatusCode"] != string(status) || p.Title != info.Title {
			t.Errorf("%s is %v with %+v, which is not of the table of codes", name, r.Properties["StatusCode"], p)
		}
		if p.Detail == "" || p.RequestID != "$context.requestId" || p.Errors == nil {
			t.Errorf("%s lacks something: %+v", name, p)
		}
		headers := r.Properties["ResponseParameters"].(map[string]any)
		if headers["gatewayresponse.header.Content-Type"] != "'application/problem+json'" {
			t.Errorf("%s has the headers %v", name, headers)
		}
		retry := headers["gatewayresponse.header.Retry-After"]
		if again := p.Code == berth.CodeRateLimited || p.Code == berth.CodeUnavailable; again != (retry == "'1'") {
			t.Errorf("%s has Retry-After %v", name, retry)
		}
		if challenge := headers["gatewayresponse.header.WWW-Authenticate"]; (p.Code == berth.CodeUnauthenticated) != (challenge == "'Bearer'") {
			t.Errorf("%s has WWW-Authenticate %v", name, challenge)
		}
	}
	for name := range wanted {
		t.Errorf("the gateway has no answer of its own for %s", name)
	}
}
