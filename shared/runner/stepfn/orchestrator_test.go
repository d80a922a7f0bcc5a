package stepfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/stepfn"
	"github.com/berth-dev/berth/shared/runner/stepfn/stepfntest"
)

const machineARN = "arn:aws:states:eu-west-1:123456789012:stateMachine:berth-runs"

// oneWait is a machine that waits for a token.
const oneWait = `{"StartAt":"Await","States":{"Await":{"Type":"Task","End":true,"TimeoutSeconds":30,
	"Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
	"Parameters":{"FunctionName":"${Await}","Payload":{"token.$":"$$.Task.Token"}}}}}`

func TestAnExecutionIsStartedOnceAnsweredOnceAndStopped(t *testing.T) {
	emulator.Each(t, startsOnceAnswersOnceAndStops)
}

func startsOnceAnswersOnceAndStops(t *testing.T, e *emulator.Emulator) {
	tokens := make(chan string, 4)
	machine := stepfntest.Deploy(t, e.Config(t), func(arns map[string]string) ([]byte, error) {
		return []byte(strings.ReplaceAll(oneWait, "${Await}", arns["Await"])), nil
	}, map[string]asl.Task{"Await": func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		var in struct{ Token string }
		err := json.Unmarshal(input, &in)
		tokens <- in.Token
		return json.RawMessage(`{}`), err
	}})
	o, err := stepfn.New(machine.Client, machine.ARN)
	if err != nil {
		t.Fatal(err)
	}
	check := func(call string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s = %v", call, err)
		}
	}
	token := func() string {
		t.Helper()
		select {
		case token := <-tokens:
			return token
		case <-time.After(30 * time.Second):
			t.Fatal("the task was not called")
			return ""
		}
	}
	status := func(id berth.ExecutionID, want berth.ExecutionStatus) {
		t.Helper()
		if x, err := o.Describe(t.Context(), id); err != nil || x.Status != want {
			t.Errorf("Describe(%s) = %s, %v, want %s", id, x.Status, err, want)
		}
	}

	status("run-1", berth.ExecutionMissing)
	check("Stop of what is not there", o.Stop(t.Context(), "run-1", "none"))
	check("Start", o.Start(t.Context(), "run-1", []byte(`{}`)))
	check("Start while it runs, with another input", o.Start(t.Context(), "run-1", []byte(`{"other":1}`)))
	status("run-1", berth.ExecutionRunning)
	first := token()
	check("Answer", o.Answer(t.Context(), first, []byte(`{"woken":true}`)))
	if x := machine.Ended(t, "run-1"); aws.ToString(x.Output) != `{"woken": true}` && aws.ToString(x.Output) != `{"woken":true}` {
		t.Errorf("it ended %s with %s", x.Status, aws.ToString(x.Output))
	}
	status("run-1", berth.ExecutionSucceeded)
	check("a second Answer", o.Answer(t.Context(), first, []byte(`{}`)))
	check("an Answer to a token of nobody", o.Answer(t.Context(), "no-token", []byte(`{}`)))
	check("Start after its end", o.Start(t.Context(), "run-1", []byte(`{}`)))
	check("Stop after its end", o.Stop(t.Context(), "run-1", "too late"))
	status("run-1", berth.ExecutionSucceeded)

	check("Start", o.Start(t.Context(), "run-2", []byte(`{}`)))
	token()
	for range 2 {
		check("Stop", o.Stop(t.Context(), "run-2", "enough"))
	}
	machine.Ended(t, "run-2") // the service shows a stop when it has come to it
	x, err := o.Describe(t.Context(), "run-2")
	if err != nil || x.Status != berth.ExecutionAborted || x.Cause != "enough" || x.StartedAt.IsZero() || x.EndedAt.IsZero() {
		t.Errorf("after Stop it is %+v, %v", x, err)
	}
}

func TestAMachineThatIsNotDeployedIsNamed(t *testing.T) { emulator.Each(t, namesAMissingMachine) }

func namesAMissingMachine(t *testing.T, e *emulator.Emulator) {
	o, err := stepfn.New(sdk.NewFromConfig(e.Config(t)), machineARN)
	if err != nil {
		t.Fatal(err)
	}
	err = o.Start(t.Context(), "run-1", []byte(`{}`))
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), machineARN) {
		t.Errorf("Start = %v, want unavailable that names the machine", err)
	}
}

func TestWhatIsTooLargeOrNoJSONIsRefusedHere(t *testing.T) {
	t.Parallel()
	o, err := stepfn.New(&fake{}, machineARN)
	if err != nil {
		t.Fatal(err)
	}
	most := []byte(`"` + strings.Repeat("x", stepfn.MaxDataBytes-2) + `"`)
	for _, test := range []struct {
		name string
		data []byte
		want berth.Code
	}{
		{"256 KB", most, ""},
		{"a byte more", append(most, ' '), berth.CodeTooLarge},
		{"no JSON", []byte(`{`), berth.CodeMalformed},
		{"nothing", nil, berth.CodeMalformed},
	} {
		if err := o.Start(t.Context(), "run-1", test.data); berth.CodeOf(err) != test.want {
			t.Errorf("Start with %s = %v, want code %q", test.name, err, test.want)
		}
		if err := o.Answer(t.Context(), "token", test.data); berth.CodeOf(err) != test.want {
			t.Errorf("Answer with %s = %v, want code %q", test.name, err, test.want)
		}
	}
}

func TestOnlyAStateMachineIsTaken(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{"", "berth-runs", strings.Replace(machineARN, "stateMachine", "execution", 1), machineARN + ":1", "arn:aws:lambda:eu-west-1:1:function:f"} {
		if _, err := stepfn.New(&fake{}, arn); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("New(%q) = %v, want invalid", arn, err)
		}
	}
}

func TestATokenThatSomebodyElseAnsweredIsNoError(t *testing.T) {
	t.Parallel()
	for _, late := range []error{&types.TaskTimedOut{}, &types.TaskDoesNotExist{}, &types.InvalidToken{}} {
		o, err := stepfn.New(&fake{err: late}, machineARN)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Answer(t.Context(), "token", []byte(`{}`)); err != nil {
			t.Errorf("Answer when the service says %v = %v", late, err)
		}
	}
}

func TestAnExecutionIsDescribedInPlainWords(t *testing.T) {
	t.Parallel()
	client := &fake{described: &sdk.DescribeExecutionOutput{
		Status: types.ExecutionStatusFailed, Error: aws.String("Berth.Unavailable"),
		Cause: aws.String(`{"errorMessage":"the table does not answer","errorType":"Berth.Unavailable"}`),
	}}
	o, err := stepfn.New(client, machineARN)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Describe(t.Context(), "run-3")
	if err != nil || x.Status != berth.ExecutionFailed || x.Error != "Berth.Unavailable" || x.Cause != "the table does not answer" {
		t.Errorf("Describe = %+v, %v", x, err)
	}
	if want := "arn:aws:states:eu-west-1:123456789012:execution:berth-runs:run-3"; client.arn != want {
		t.Errorf("it asked for %s, want %s", client.arn, want)
	}
	client.described = &sdk.DescribeExecutionOutput{Status: types.ExecutionStatusPendingRedrive}
	if x, err := o.Describe(t.Context(), "run-3"); err != nil || x.Status != berth.ExecutionRunning {
		t.Errorf("Describe of one to be redriven = %s, %v, want RUNNING", x.Status, err)
	}
}

func TestFailuresOfTheServiceAreExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		code berth.Code
		want string
	}{
		{&types.StateMachineDoesNotExist{}, berth.CodeUnavailable, "Deploy"},
		{&smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}, berth.CodeUnavailable, "permissions"},
		{&types.ExecutionLimitExceeded{}, berth.CodeUnavailable, "Try again"},
		{&smithy.GenericAPIError{Code: "ThrottlingException", Fault: smithy.FaultClient}, berth.CodeUnavailable, "Try again"},
		{&smithy.GenericAPIError{Code: "InternalFailure", Fault: smithy.FaultServer}, berth.CodeUnavailable, "Try again"},
		{&types.InvalidName{}, berth.CodeInternal, ""},
		{errors.New("connection refused"), berth.CodeUnavailable, "Try again"},
		{context.DeadlineExceeded, berth.CodeUnavailable, "Try again"},
	} {
		o, err := stepfn.New(&fake{err: test.err}, machineARN)
		if err != nil {
			t.Fatal(err)
		}
		err = o.Start(t.Context(), "run-1", []byte(`{}`))
		var coded *berth.Error
		if berth.CodeOf(err) != test.code || errors.As(err, &coded) && !strings.Contains(coded.Remediation, test.want) {
			t.Errorf("Start when the service says %v = %v, want %s and %q", test.err, err, test.code, test.want)
		}
	}
}

// fake answers every call with err, or with what it has.
type fake struct {
	err       error
	described *sdk.DescribeExecutionOutput
	arn       string
}

func (f *fake) StartExecution(context.Context, *sdk.StartExecutionInput, ...func(*sdk.Options)) (*sdk.StartExecutionOutput, error) {
	return &sdk.StartExecutionOutput{}, f.err
}

func (f *fake) StopExecution(context.Context, *sdk.StopExecutionInput, ...func(*sdk.Options)) (*sdk.StopExecutionOutput, error) {
	return &sdk.StopExecutionOutput{}, f.err
}

func (f *fake) DescribeExecution(_ context.Context, in *sdk.DescribeExecutionInput, _ ...func(*sdk.Options)) (*sdk.DescribeExecutionOutput, error) {
	f.arn = aws.ToString(in.ExecutionArn)
	return f.described, f.err
}

func (f *fake) SendTaskSuccess(context.Context, *sdk.SendTaskSuccessInput, ...func(*sdk.Options)) (*sdk.SendTaskSuccessOutput, error) {
	return &sdk.SendTaskSuccessOutput{}, f.err
}
