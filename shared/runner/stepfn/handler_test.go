package stepfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/stepfn"
)

func TestErrorsOfAFunctionHaveTheNamesThatTheMachineMatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task       asl.Task
		kind, says string
	}{
		"a task's own name": {failing(&asl.Error{Name: "Berth.TimedOut", Cause: "too slow"}), "Berth.TimedOut", "too slow"},
		"a code":            {failing(berth.Errorf(berth.CodeRateLimited, "slow down")), "Berth.RateLimited", "slow down"},
		"no code":           {failing(errors.New("odd")), "Berth.Internal", "odd"},
		"a panic": {func(context.Context, json.RawMessage) (json.RawMessage, error) {
			var nobody *berth.Run
			return nil, errors.New(string(nobody.ID))
		}, "Panic", "Follow panicked"},
		"a result over the limit": {func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", asl.MaxDataBytes) + `"`), nil
		}, "Berth.TooLarge", "the limit is"},
	} {
		_, err := stepfn.Handler("Follow", c.task, slog.New(slog.DiscardHandler))(t.Context(), json.RawMessage(`{}`))
		var got messages.InvokeResponse_Error
		if !errors.As(err, &got) || got.Type != c.kind || !strings.Contains(got.Message, c.says) || got.ShouldExit {
			t.Errorf("%s: the error is %+v, want %s that says %q", name, err, c.kind, c.says)
		}
	}
}

func failing(err error) asl.Task {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, err }
}

func TestAnEarlierFailureComesToATaskAsItWasRaised(t *testing.T) {
	t.Parallel()
	lambda, err := json.Marshal(`{"errorMessage":"the host is gone","errorType":"Berth.Unavailable"}`)
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{"run":"r","failure":{"Error":"Berth.Unavailable","Cause":` + string(lambda) + `}}`: `{"failure":{"Error":"Berth.Unavailable","Cause":"the host is gone"},"run":"r"}`,
		`{"run":"r","failure":{"Error":"States.Timeout","Cause":""}}`:                        `{"run":"r","failure":{"Error":"States.Timeout","Cause":""}}`,
		`{"run":"r","failure":{"Error":"X","Cause":"{\"a\":1}"}}`:                            `{"run":"r","failure":{"Error":"X","Cause":"{\"a\":1}"}}`,
		`{"run":"r","failure":3}`: `{"run":"r","failure":3}`,
		`{"run":"r"}`:             `{"run":"r"}`,
		`[1]`:                     `[1]`,
	} {
		echo := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }
		got, err := stepfn.Handler("Teardown", echo, slog.New(slog.DiscardHandler))(t.Context(), json.RawMessage(input))
		if err != nil || string(got) != want {
			t.Errorf("%s comes as %s, %v, want %s", input, got, err, want)
		}
	}
}
