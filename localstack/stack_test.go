package localstack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/berth-dev/berth/shared/emulator"
)

// patience bounds what must happen on a slow machine.
const patience = 3 * time.Minute

// stack is an API of our own on LocalStack.
type stack struct {
	t       *testing.T
	client  *cloudformation.Client
	given   []types.Parameter
	api     string // its address
	account aws.Config
}

func TestAnAPIIsGuardedBoundedAndDeployedAgain(t *testing.T) {
	e := emulator.Start(t, emulator.LocalStack)
	s := newStack(t, e)
	s.deploy("1", "x", "slow")
	s.check("no token", "GET", "x", "", nil, 401, `{"code":"unauthenticated","request":"`)
	s.check("a token of nobody", "GET", "x", "nobody", nil, 401, `{"code":"unauthenticated","request":"`)
	s.check("a token that is denied", "GET", "x", "deny", nil, 403, "not authorized")
	s.check("a token that is allowed", "GET", "x", "allow", nil, 200, "\xff/x somebody read")
	s.check("too large a body", "POST", "x", "allow", make([]byte, 10<<20+1), 413, "exceeded 10485760 bytes")
	s.check("a function that takes too long", "GET", "slow", "allow", nil, 504, "timed out")
	s.check("an unknown path", "GET", "y", "allow", nil, 403, "Missing Authentication Token")
	s.deploy("2", "x", "slow", "y")
	s.check("the old path after a second deployment", "GET", "x", "allow", nil, 200, "\xff/x somebody read")
	s.check("the new one", "GET", "y", "allow", nil, 200, "\xff/y somebody read")
	s.awaitSchedule(e)
}

func newStack(t *testing.T, e *emulator.Emulator) *stack {
	t.Helper()
	config := e.ConfigOf(t, emulator.Account)
	program, err := os.ReadFile(filepath.Join(buildBootstrap(t, t.Context()), "bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	file, err := w.Create("bootstrap")
	if err == nil {
		_, err = file.Write(program)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	store := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("code")}); err != nil {
		t.Fatal(err)
	}
	_, err = store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("code"), Key: aws.String("bootstrap.zip"), Body: bytes.NewReader(archive.Bytes())})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, client: cloudformation.NewFromConfig(config), account: config, api: e.Endpoint + "/_aws/execute-api/"}
	for name, value := range map[string]string{
		"Bucket": "code", "Key": "bootstrap.zip", "Architecture": map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH],
	} {
		s.given = append(s.given, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(value)})
	}
	return s
}

// template is that of testdata with an own method for each path. The deployment
// has a new name each time, as the CDK does it.
func (s *stack) template(deployment string, paths []string) string {
	s.t.Helper()
	text, err := os.ReadFile("testdata/template.json")
	if err != nil {
		s.t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		s.t.Fatal(err)
	}
	ref := func(name string) any { return map[string]any{"Ref": name} }
	resources := whole["Resources"].(map[string]any)
	var methods []string
	for _, path := range paths {
		resources["Path"+path] = map[string]any{"Type": "AWS::ApiGateway::Resource", "Properties": map[string]any{
			"RestApiId": ref("API"), "PathPart": path, "ParentId": map[string]any{"Fn::GetAtt": []string{"API", "RootResourceId"}},
		}}
		timeout := 29_000
		if path == "slow" {
			timeout = 500
		}
		resources["Method"+path] = map[string]any{"Type": "AWS::ApiGateway::Method", "Properties": map[string]any{
			"RestApiId": ref("API"), "ResourceId": ref("Path" + path), "HttpMethod": "ANY",
			"AuthorizationType": "CUSTOM", "AuthorizerId": ref("Authorizer"),
			"Integration": map[string]any{
				"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "TimeoutInMillis": timeout,
				"Uri": map[string]any{"Fn::Sub": "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Arn}/invocations"},
			},
		}}
		methods = append(methods, "Method"+path)
	}
	resources["Deployment"+deployment] = map[string]any{
		"Type": "AWS::ApiGateway::Deployment", "DependsOn": append(methods, "Unauthorized"), "Properties": map[string]any{"RestApiId": ref("API")},
	}
	resources["Stage"] = map[string]any{"Type": "AWS::ApiGateway::Stage", "Properties": map[string]any{
		"RestApiId": ref("API"), "DeploymentId": ref("Deployment" + deployment), "StageName": "v1",
	}}
	if deployment == "2" {
		resources["Soon"] = map[string]any{"Type": "AWS::Scheduler::Schedule", "Properties": map[string]any{
			"Name": "soon", "FlexibleTimeWindow": map[string]any{"Mode": "OFF"},
			"ScheduleExpression": "at(" + time.Now().UTC().Format("2006-01-02T15:04:05") + ")",
			"Target": map[string]any{
				"Arn": map[string]any{"Fn::GetAtt": []string{"Function", "Arn"}}, "RoleArn": "arn:aws:iam::000000000000:role/test",
				"Input": `{"do":"say","text":"said by <aws.scheduler.schedule-arn>"}`,
			},
		}}
	}
	whole["Outputs"] = map[string]any{"API": map[string]any{"Value": ref("API")}}
	out, err := json.Marshal(whole)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

func (s *stack) deploy(deployment string, paths ...string) {
	s.t.Helper()
	ctx, name, body := s.t.Context(), aws.String("patched"), aws.String(s.template(deployment, paths))
	described := &cloudformation.DescribeStacksInput{StackName: name}
	var err error
	if deployment == "1" {
		if _, err = s.client.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: body, Parameters: s.given}); err == nil {
			err = cloudformation.NewStackCreateCompleteWaiter(s.client, quick).Wait(ctx, described, patience)
		}
	} else {
		if _, err = s.client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: name, TemplateBody: body, Parameters: s.given}); err == nil {
			err = cloudformation.NewStackUpdateCompleteWaiter(s.client, quickUpdate).Wait(ctx, described, patience)
		}
	}
	if err != nil {
		s.t.Fatalf("deployment %s: %v", deployment, err)
	}
	out, err := s.client.DescribeStacks(ctx, described)
	if err != nil {
		s.t.Fatal(err)
	}
	base, _, _ := strings.Cut(s.api, "/_aws/execute-api/")
	s.api = base + "/_aws/execute-api/" + aws.ToString(out.Stacks[0].Outputs[0].OutputValue) + "/v1/"
}

func quick(o *cloudformation.StackCreateCompleteWaiterOptions) {
	o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
}

func quickUpdate(o *cloudformation.StackUpdateCompleteWaiterOptions) {
	o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
}

func (s *stack) check(what, method, path, token string, body []byte, status int, want string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	response, err := s.account.HTTPClient.Do(request)
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !bytes.Contains(got, []byte(want)) {
		s.t.Errorf("%s: %d %q (%v), want %d and %q", what, response.StatusCode, got, err, status, want)
	}
	if status == 401 && (response.Header.Get("Content-Type") != "application/problem+json" || response.Header.Get("WWW-Authenticate") != "Bearer") {
		s.t.Errorf("%s: headers %v", what, maps.Clone(response.Header))
	}
}

// awaitSchedule waits until the schedule of the second deployment has called the
// function.
func (s *stack) awaitSchedule(e *emulator.Emulator) {
	s.t.Helper()
	const want = "said by arn:aws:scheduler:us-east-1:000000000000:schedule/default/soon"
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for !strings.Contains(e.Logs(1<<20), want) {
		select {
		case <-ctx.Done():
			s.t.Fatal("the schedule does not fire")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
