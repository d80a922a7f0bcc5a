package main

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"
)

// stacks answers with outputs, whatever the stack.
type stacks map[string]string

func (s stacks) DescribeStacks(_ context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error) {
	stack := types.Stack{StackName: in.StackName}
	for name, value := range s {
		stack.Outputs = append(stack.Outputs, types.Output{OutputKey: aws.String(name), OutputValue: aws.String(value)})
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{stack}}, nil
}

// function answers with one answer and keeps what it was asked.
type function struct {
	answer string
	failed bool
	name   string
	asked  string
}

func (f *function) Invoke(_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	f.name, f.asked = aws.ToString(in.FunctionName), string(in.Payload)
	out := &lambda.InvokeOutput{Payload: []byte(f.answer)}
	if f.failed {
		out.FunctionError = aws.String("Unhandled")
	}
	return out, nil
}

func TestTheAddressIsTheStacksOwnOrTheEmulators(t *testing.T) {
	t.Parallel()
	outputs := stacks{"URL": "https://abc.execute-api.eu-west-1.amazonaws.com/v1/", "API": "abc"}
	for endpoint, want := range map[string]string{
		"":                       "https://abc.execute-api.eu-west-1.amazonaws.com/v1",
		"http://127.0.0.1:4566/": "http://127.0.0.1:4566/_aws/execute-api/abc/v1",
	} {
		got, err := deployment{installation: "berth", endpoint: endpoint, stacks: outputs}.address(t.Context())
		if err != nil || got != want {
			t.Errorf("with the endpoint %q the address is %s, %v, want %s", endpoint, got, err, want)
		}
	}
	if got, err := (deployment{installation: "x", stacks: stacks{}}).address(t.Context()); err == nil || !strings.Contains(err.Error(), "berth-x-api") {
		t.Errorf("without outputs the address is %q, %v, want an error that names the stack", got, err)
	}
}

func TestTheFirstKeyIsWhatTheFunctionAnswers(t *testing.T) {
	t.Parallel()
	f := &function{answer: `{"id":"01","name":"bootstrap","scopes":["read"],"value":"bth_x"}`}
	got, err := deployment{installation: "prod", functions: f}.firstKey(t.Context(), true)
	if err != nil || got != "bth_x" || f.name != "berth-prod-events-bootstrap" || f.asked != `{"force":true}` {
		t.Errorf("firstKey = %q, %v, asked of %s with %s", got, err, f.name, f.asked)
	}
}

func TestAConflictIsToldFromOtherFailures(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		`{"errorType":"Berth.Conflict","errorMessage":"the installation has a key"}`: true,
		`{"errorType":"Berth.Unavailable","errorMessage":"the table"}`:               false,
		`no JSON`: false,
	} {
		_, err := deployment{installation: "berth", functions: &function{answer: answer, failed: true}}.firstKey(t.Context(), false)
		if err == nil || isConflict(err) != want {
			t.Errorf("%s is the error %v, a conflict: %v, want %v", answer, err, isConflict(err), want)
		}
	}
	if _, err := (deployment{functions: &function{answer: `{}`}}).firstKey(t.Context(), false); err == nil {
		t.Error("an answer without a key is taken for one")
	}
}

func TestWhatIsPrintedHasTheKeyAndHowToLogIn(t *testing.T) {
	t.Parallel()
	var asText, asJSON, without strings.Builder
	l := login{URL: "https://api.example.com", Key: "bth_x"}
	if err := l.print(&asText, false); err != nil || !strings.Contains(asText.String(), "bth_x") || !strings.Contains(asText.String(), "berth login https://api.example.com") {
		t.Errorf("printed %s, %v", asText.String(), err)
	}
	if err := l.print(&asJSON, true); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(`{"url":"https://api.example.com","key":"bth_x"}`+"\n", asJSON.String()); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	if err := (login{URL: l.URL}).print(&without, false); err != nil || !strings.Contains(without.String(), "none was made") {
		t.Errorf("without a key it prints %s, %v", without.String(), err)
	}
}
