package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// three are tasks one after another with a wait and a choice between.
const three = `{"StartAt":"One","States":{
	"One":{"Type":"Task","Resource":"one","Next":"Decide"},
	"Decide":{"Type":"Choice","Default":"Rest","Choices":[{"Variable":"$.skip","IsPresent":true,"Next":"Three"}]},
	"Rest":{"Type":"Wait","Seconds":1,"Next":"Two"},
	"Two":{"Type":"Task","Resource":"two","Next":"Three"},
	"Three":{"Type":"Task","Resource":"three","End":true}}}`

func start(t *testing.T, definition string, table berth.Table, clock berth.Clock, tasks map[string]asl.Task, entered func(berth.ExecutionID, string)) *asl.Interpreter {
	t.Helper()
	i, err := asl.New(asl.Config{
		Definition: []byte(definition), Tasks: tasks, Table: table, Clock: clock,
		IDs: ids.New(clock), Logger: slog.New(slog.DiscardHandler), Entered: entered,
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func adds(word string) asl.Task {
	return func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		var v struct {
			Words []string `json:"words"`
		}
		if err := json.Unmarshal(input, &v); err != nil {
			return nil, err
		}
		v.Words = append(v.Words, word)
		return json.Marshal(v)
	}
}

func threeTasks() map[string]asl.Task {
	return map[string]asl.Task{"one": adds("one"), "two": adds("two"), "three": adds("three")}
}

func TestKilledBetweenAnyTwoWritesAnExecutionGoesOnFromItsState(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	for writes := 1; ; writes++ {
		table := openTable(t, clock)
		mortal := runnertest.NewMortalTable(table, writes)
		first := start(t, three, mortal, clock, threeTasks(), nil)
		if err := first.Start(t.Context(), "x", []byte(`{"words":[]}`)); err != nil {
			t.Fatal(err)
		}
		killed := true
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if x, err := first.Describe(t.Context(), "x"); err == nil && x.Status != berth.ExecutionRunning {
				killed = false
				break
			}
			if isClosed(mortal.Dead()) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("neither ended nor died")
			}
		}
		closeInterpreter(t, first)

		var p path
		second := start(t, three, table, clock, threeTasks(), p.entered)
		if err := second.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		x := ended(t, second, "x")
		output, err := second.Output(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if x.Status != berth.ExecutionSucceeded || string(output) != `{"words":["one","two","three"]}` {
			t.Errorf("killed after %d writes: ended %s with %s", writes, x.Status, output)
		}
		if whole := []string{"One", "Decide", "Rest", "Two", "Three"}; !slices.Equal(p.of("x"), whole[max(0, len(whole)-len(p.of("x"))):]) {
			t.Errorf("killed after %d writes: resumed through %v", writes, p.of("x"))
		}
		closeInterpreter(t, second)
		if !killed {
			return
		}
		if writes > 20 {
			t.Fatal("an execution of four timed states needs more than 20 writes")
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestClosingLeavesExecutionsRunningForTheNextResume(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	table := openTable(t, clock)
	first := start(t, three, table, clock, threeTasks(), nil)
	if err := first.Start(t.Context(), "x", []byte(`{"words":[]}`)); err != nil {
		t.Fatal(err)
	}
	<-clock.Sleeper() // it is in the wait
	closeInterpreter(t, first)
	if err := first.Start(t.Context(), "y", []byte(`{}`)); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Start after Close = %v, want unavailable", err)
	}
	if x, err := first.Describe(t.Context(), "x"); err != nil || x.Status != berth.ExecutionRunning {
		t.Fatalf("Describe() = %v, %v, want RUNNING", x.Status, err)
	}
	clock.Advance(time.Second) // the wait went by while nobody was there
	second := start(t, three, table, clock, threeTasks(), nil)
	defer closeInterpreter(t, second)
	if err := second.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := ended(t, second, "x"); x.Status != berth.ExecutionSucceeded {
		t.Errorf("ended %s: %s", x.Status, x.Cause)
	}
}

func TestStartingTwiceRunsOnceAlsoAfterTheEnd(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	var calls atomic.Int32
	tasks := map[string]asl.Task{"one": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		calls.Add(1)
		return json.RawMessage(`{}`), nil
	}}
	i := start(t, `{"StartAt":"One","States":{"One":{"Type":"Task","Resource":"one","End":true}}}`, openTable(t, clock), clock, tasks, nil)
	defer closeInterpreter(t, i)
	for range 3 {
		if err := i.Start(t.Context(), "x", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	ended(t, i, "x")
	if err := i.Start(t.Context(), "x", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the task ran %d times", n)
	}
}

func TestStopAbortsAndAnEndedExecutionStaysAsItIs(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	table := openTable(t, clock)
	entered := make(chan struct{})
	tasks := map[string]asl.Task{"one": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	const definition = `{"StartAt":"One","States":{"One":{"Type":"Task","Resource":"one","Next":"Two","Retry":[{"ErrorEquals":["States.ALL"]}]},"Two":{"Type":"Succeed"}}}`
	i := start(t, definition, table, clock, tasks, nil)
	defer closeInterpreter(t, i)
	if err := i.Start(t.Context(), "x", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	<-entered
	for range 2 {
		if err := i.Stop(t.Context(), "x", "enough"); err != nil {
			t.Fatal(err)
		}
	}
	x := ended(t, i, "x")
	if x.Status != berth.ExecutionAborted || x.Cause != "enough" {
		t.Errorf("Describe() = %s, %q, want ABORTED, enough", x.Status, x.Cause)
	}
	if err := i.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := ended(t, i, "x"); !cmp.Equal(x, again) {
		t.Errorf("after Resume it is %+v", again)
	}
}

func TestWhatIsNotKnownIsMissing(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	i := start(t, three, openTable(t, clock), clock, threeTasks(), nil)
	defer closeInterpreter(t, i)
	x, err := i.Describe(t.Context(), "nobody")
	if err != nil || x.Status != berth.ExecutionMissing {
		t.Errorf("Describe() = %s, %v, want MISSING", x.Status, err)
	}
	if err := i.Stop(t.Context(), "nobody", "why"); err != nil {
		t.Errorf("Stop() = %v", err)
	}
	if err := i.Answer(t.Context(), "no-token", []byte(`{}`)); err != nil {
		t.Errorf("Answer() = %v, want none: somebody was first", err)
	}
}

func TestEndedExecutionsCanBeAskedForAWeekLong(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	i := start(t, `{"StartAt":"One","States":{"One":{"Type":"Succeed"}}}`, openTable(t, clock), clock, nil, nil)
	defer closeInterpreter(t, i)
	if err := i.Start(t.Context(), "x", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	ended(t, i, "x")
	for _, step := range []struct {
		after time.Duration
		want  berth.ExecutionStatus
	}{{6*24*time.Hour + 23*time.Hour, berth.ExecutionSucceeded}, {2 * time.Hour, berth.ExecutionMissing}} {
		clock.Advance(step.after)
		if x, err := i.Describe(t.Context(), "x"); err != nil || x.Status != step.want {
			t.Errorf("Describe() = %s, %v, want %s", x.Status, err, step.want)
		}
	}
}

func TestBadInputsAreRefused(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	i := start(t, three, openTable(t, clock), clock, threeTasks(), nil)
	defer closeInterpreter(t, i)
	large := `"` + strings.Repeat("x", asl.MaxDataBytes) + `"`
	if err := i.Start(t.Context(), "x", []byte(large)); berth.CodeOf(err) != berth.CodeTooLarge {
		t.Errorf("Start of a large input = %v, want too_large", err)
	}
	if err := i.Start(t.Context(), "x", []byte(`{`)); berth.CodeOf(err) != berth.CodeMalformed {
		t.Errorf("Start of no JSON = %v, want malformed", err)
	}
	if err := i.Answer(t.Context(), "token", []byte(`{`)); berth.CodeOf(err) != berth.CodeMalformed {
		t.Errorf("Answer of no JSON = %v, want malformed", err)
	}
}

func TestFaultyTasksFailTheExecutionUnderAName(t *testing.T) {
	t.Parallel()
	const definition = `{"StartAt":"One","States":{"One":{"Type":"Task","Resource":"one","End":true}}}`
	for name, c := range map[string]struct {
		task asl.Task
		want string
	}{
		"one that panics": {func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("bad") }, "Panic"},
		"one that returns no JSON": {func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{`), nil
		}, "States.Runtime"},
		"one that returns too much": {func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(strings.Repeat("x", asl.MaxDataBytes))
		}, "States.DataLimitExceeded"},
		"one with an error without a name": {func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("oh")
		}, "States.TaskFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := runnertest.NewHurriedClock(hurry)
			i := start(t, definition, openTable(t, clock), clock, map[string]asl.Task{"one": c.task}, nil)
			defer closeInterpreter(t, i)
			if err := i.Start(t.Context(), "x", []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			if x := ended(t, i, "x"); x.Status != berth.ExecutionFailed || x.Error != c.want {
				t.Errorf("ended %s with %q, want FAILED with %q", x.Status, x.Error, c.want)
			}
		})
	}
}

// sickTable refuses writes for a while.
type sickTable struct {
	berth.Table
	refusals atomic.Int32
}

func (s *sickTable) Put(ctx context.Context, item berth.Item) (int64, error) {
	if item.Version > 0 && s.refusals.Add(-1) >= 0 {
		return 0, berth.Errorf(berth.CodeUnavailable, "the disk is full")
	}
	return s.Table.Put(ctx, item)
}

func TestATableThatComesBackLosesNoExecution(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	table := &sickTable{Table: openTable(t, clock)}
	table.refusals.Store(4)
	i := start(t, three, table, clock, threeTasks(), nil)
	defer closeInterpreter(t, i)
	if err := i.Start(t.Context(), "x", []byte(`{"words":[]}`)); err != nil {
		t.Fatal(err)
	}
	if x := ended(t, i, "x"); x.Status != berth.ExecutionSucceeded {
		t.Errorf("ended %s: %s %s", x.Status, x.Error, x.Cause)
	}
}

func TestManyExecutionsAtOnceDoNotMix(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewHurriedClock(hurry)
	i := start(t, three, openTable(t, clock), clock, threeTasks(), nil)
	defer closeInterpreter(t, i)
	const many = 30
	for n := range many {
		if err := i.Start(t.Context(), berth.ExecutionID(fmt.Sprintf("x-%d", n)), fmt.Appendf(nil, `{"words":["%d"]}`, n)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range many {
		id := berth.ExecutionID(fmt.Sprintf("x-%d", n))
		ended(t, i, id)
		output, err := i.Output(t.Context(), id)
		if want := fmt.Sprintf(`{"words":["%d","one","two","three"]}`, n); err != nil || string(output) != want {
			t.Errorf("output of %s is %s, %v, want %s", id, output, err, want)
		}
	}
}

func TestAResourceWithoutATaskIsRefused(t *testing.T) {
	t.Parallel()
	_, err := asl.New(asl.Config{Definition: []byte(three), Tasks: map[string]asl.Task{"one": adds("one"), "two": adds("two")}})
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "resource three") {
		t.Errorf("New() = %v, want the resource that has no task", err)
	}
}
