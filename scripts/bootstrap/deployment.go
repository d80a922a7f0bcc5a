package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/berth-dev/berth/shared/serverless"
)

// deployment is an installation in the account of the present credentials.
type deployment struct {
	installation string
	endpoint     string // of an emulator, or empty

	stacks interface {
		DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
	}
	functions interface {
		Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
	}
}

// address is the API's, without a slash at the end. An emulator has it below its own.
func (d deployment) address(ctx context.Context) (string, error) {
	stack := "berth-" + d.installation + "-api"
	out, err := d.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(stack)})
	if err != nil {
		return "", fmt.Errorf("looking at the stack %s: %w", stack, err)
	}
	outputs := map[string]string{}
	for _, s := range out.Stacks {
		for _, o := range s.Outputs {
			outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	if outputs["URL"] == "" || outputs["API"] == "" {
		return "", fmt.Errorf("the stack %s has no outputs URL and API: deploy it with this version of berth", stack)
	}
	if d.endpoint != "" {
		return strings.TrimRight(d.endpoint, "/") + "/_aws/execute-api/" + outputs["API"] + "/v1", nil
	}
	return strings.TrimRight(outputs["URL"], "/"), nil
}

// functionError is what a function failed with.
type functionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *functionError) Error() string { return e.Message }

func isConflict(err error) bool {
	var e *functionError
	return errors.As(err, &e) && e.Type == serverless.ConflictName
}

// firstKey makes the key and returns its value.
func (d deployment) firstKey(ctx context.Context, force bool) (string, error) {
	function := "berth-" + d.installation + "-events-bootstrap"
	request, err := json.Marshal(serverless.BootstrapRequest{Force: force})
	if err != nil {
		return "", err
	}
	out, err := d.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(function), Payload: request})
	if err != nil {
		return "", fmt.Errorf("calling the function %s: %w", function, err)
	}
	if out.FunctionError != nil {
		failure := &functionError{Message: string(out.Payload)}
		_ = json.Unmarshal(out.Payload, failure) // what is no JSON is told as it is
		return "", fmt.Errorf("the function %s: %w", function, failure)
	}
	var key serverless.FirstKey
	if err := json.Unmarshal(out.Payload, &key); err != nil || key.Value == "" {
		return "", fmt.Errorf("the function %s answered with something else than a key", function)
	}
	return key.Value, nil
}
