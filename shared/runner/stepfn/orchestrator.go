// Package stepfn drives runs by AWS Step Functions: executions of one Standard
// state machine, whose tasks are Lambda functions made by [Handler].
package stepfn

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/berth-dev/berth/shared/berth"
)

// Client is what the orchestrator needs of the SDK's client.
type Client interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	StopExecution(context.Context, *sfn.StopExecutionInput, ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
}

// Orchestrator is a berth.Orchestrator over one state machine.
type Orchestrator struct {
	client  Client
	machine string
}

var _ berth.Orchestrator = (*Orchestrator)(nil)

const (
	// MaxDataBytes is the most that Step Functions takes as an input or an
	// answer: 256 KB. Not every emulator minds, so it is checked here.
	MaxDataBytes = 256 * 1024
	// maxCause is the longest cause of a stop, in bytes.
	maxCause = 32 * 1024
)

// New uses the state machine of that ARN. Error: invalid for what is the ARN of
// no state machine.
func New(client Client, machineARN string) (*Orchestrator, error) {
	parts := strings.Split(machineARN, ":")
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != "states" || parts[5] != "stateMachine" || parts[6] == "" {
		return nil, berth.Errorf(berth.CodeInvalid,
			"%q is not the ARN of a state machine: arn:aws:states:REGION:ACCOUNT:stateMachine:NAME is expected", machineARN)
	}
	return &Orchestrator{client: client, machine: machineARN}, nil
}

// Start begins an execution. One that is running or has ended under the same id
// counts as started, with whatever input. Errors: too_large, malformed for input
// that is no JSON, unavailable.
func (o *Orchestrator) Start(ctx context.Context, id berth.ExecutionID, input []byte) error {
	doing := "starting execution " + string(id)
	if err := checkData(input, "the input"); err != nil {
		return berth.Wrap(err, doing)
	}
	_, err := o.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: aws.String(o.machine), Name: aws.String(string(id)), Input: aws.String(string(input)),
	})
	// The same name with the same input is answered as a success while it runs.
	if is[*types.ExecutionAlreadyExists](err) {
		return nil
	}
	return o.explain(doing, err)
}

// Stop aborts an execution; one that has ended, or is not known, stays as it is.
// A task of it that is running is not waited for, and Describe shows the stop a
// little later: the service's answers to it are eventually consistent (API
// reference of DescribeExecution). Error: unavailable.
func (o *Orchestrator) Stop(ctx context.Context, id berth.ExecutionID, cause string) error {
	doing := "stopping execution " + string(id)
	_, err := o.client.StopExecution(ctx, &sfn.StopExecutionInput{
		ExecutionArn: aws.String(o.arn(id)), Cause: aws.String(strings.ToValidUTF8(cause[:min(len(cause), maxCause)], "")),
	})
	switch {
	case is[*types.ExecutionDoesNotExist](err):
		return nil
	case is[*types.ValidationException](err): // it may have ended
		x, failure := o.Describe(ctx, id)
		if failure == nil && x.Status != berth.ExecutionRunning {
			return nil
		}
	}
	return o.explain(doing, err)
}

// Describe returns status MISSING for an execution that is not known. Error:
// unavailable.
func (o *Orchestrator) Describe(ctx context.Context, id berth.ExecutionID) (berth.Execution, error) {
	out, err := o.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: aws.String(o.arn(id))})
	if is[*types.ExecutionDoesNotExist](err) {
		return berth.Execution{ID: id, Status: berth.ExecutionMissing}, nil
	}
	if err != nil {
		return berth.Execution{ID: id}, o.explain("looking at execution "+string(id), err)
	}
	return berth.Execution{
		ID: id, Status: statusOf(out.Status), Error: aws.ToString(out.Error), Cause: plainCause(aws.ToString(out.Cause)),
		StartedAt: timeOf(out.StartDate), EndedAt: timeOf(out.StopDate),
	}, nil
}

// Answer gives a waiting task its result by its token. A token that was
// answered, timed out or is unknown is no error: somebody was first. Errors:
// too_large, malformed for what is no JSON, unavailable.
func (o *Orchestrator) Answer(ctx context.Context, token string, output []byte) error {
	const doing = "answering a waiting task"
	if err := checkData(output, "the answer"); err != nil {
		return berth.Wrap(err, doing)
	}
	_, err := o.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{
		TaskToken: aws.String(token), Output: aws.String(string(output)),
	})
	if is[*types.TaskTimedOut](err) || is[*types.TaskDoesNotExist](err) || is[*types.InvalidToken](err) {
		return nil
	}
	return o.explain(doing, err)
}

func checkData(data []byte, what string) error {
	switch {
	case len(data) > MaxDataBytes:
		return berth.Errorf(berth.CodeTooLarge, "%s is %d bytes, the limit is %d", what, len(data), MaxDataBytes)
	case !json.Valid(data):
		return berth.Errorf(berth.CodeMalformed, "%s is no JSON", what)
	}
	return nil
}

// arn is that of an execution of the machine.
func (o *Orchestrator) arn(id berth.ExecutionID) string {
	return strings.Replace(o.machine, ":stateMachine:", ":execution:", 1) + ":" + string(id)
}

// statusOf keeps Step Functions' words; one that waits to be redriven goes on.
func statusOf(s types.ExecutionStatus) berth.ExecutionStatus {
	if s == types.ExecutionStatusPendingRedrive {
		return berth.ExecutionRunning
	}
	return berth.ExecutionStatus(s)
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
