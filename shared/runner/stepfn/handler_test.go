package stepfn_test

import (
	"bytes"
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

func TestEveryTaskLeavesALineThatNamesItsRun(t *testing.T) {
	t.Parallel()
	const run = "01jd3v6d0x2m5p8q9r7s4t1v0w"
	state := `{"run":"` + run + `","execution":"` + run + `-2","stage":"01-command"}`
	for name, c := range map[string]struct {
		input string
		task  asl.Task
		level string
		next  any
	}{
		"done": {state, func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"run":"` + run + `","next":"follow"}`), nil
		}, "INFO", "follow"},
		"done, and it waits for a token": {`{"state":` + state + `,"token":"secret"}`, func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		}, "INFO", ""},
		"failed":   {state, failing(errors.New("odd")), "WARN", nil},
		"panicked": {state, func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("odd") }, "ERROR", nil},
	} {
		var log bytes.Buffer
		_, _ = stepfn.Handler("Follow", c.task, slog.New(slog.NewJSONHandler(&log, nil)))(t.Context(), json.RawMessage(c.input))
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil { // two lines are none
			t.Errorf("%s: %v in %s", name, err, log.String())
			continue
		}
		want := map[string]any{"run": run, "execution": run + "-2", "stage": "01-command", "task": "Follow", "level": c.level}
		for key, value := range want {
			if line[key] != value {
				t.Errorf("%s: %s is %v, want %v, in %s", name, key, line[key], value, log.String())
			}
		}
		if line["next"] != c.next || strings.Contains(log.String(), "secret") {
			t.Errorf("%s: the line is %s", name, log.String())
		}
	}
}
