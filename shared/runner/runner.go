package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/asl"
)

// Providers finds the providers of this server.
type Providers interface {
	// Find returns unsupported, with what to do, for a provider that is off.
	Find(kind berth.ProviderKind) (berth.Provider, error)
	All() []berth.Provider
}

// Armer is the optional power of a provider to nudge: once armed, it calls the
// nudge route once when the command has output past the offset or has ended.
type Armer interface {
	Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error
}

// Cloner says how a sandbox fetches a run's code.
type Cloner interface {
	CloneCommand(ctx context.Context, def berth.Definition) (berth.CommandSpec, error)
}

// CloneExplainer is the optional power of a Cloner to say what the exit of its
// command means; false when it says nothing of its own.
type CloneExplainer interface {
	ExplainClone(def berth.Definition, exit berth.Exit) (berth.Reason, bool)
}

// Runner has the tasks of the state machine. Fields without a word about zero
// are required.
type Runner struct {
	Records      *records.Store
	Providers    Providers
	Secrets      berth.Secrets
	Orchestrator berth.Orchestrator
	Clock        berth.Clock
	Installation berth.InstallationID
	Logger       *slog.Logger
	// Metrics is nil where nobody counts.
	Metrics *metric.Recorder
	// Cloner is nil where no provider fetches code.
	Cloner Cloner
	// MaxLiveRuns lets further runs queue; zero is no limit.
	MaxLiveRuns int
	// ProvisionPatience is how long Provision itself looks at a sandbox that is
	// being made, before the machine waits; zero is 2 s.
	ProvisionPatience time.Duration
	// FollowQuiet ends a Follow after so much silence; zero is never, for where
	// staying attached costs nothing.
	FollowQuiet time.Duration
	// FollowTotal ends a Follow in any case; zero is 10 minutes.
	FollowTotal time.Duration
	// MaxTurns is how often an execution goes round before the next one takes over;
	// zero is 1000.
	MaxTurns int
	// FlushEvery is the shortest time between two records of output that is less
	// than a piece's worth; zero is 100 ms.
	FlushEvery time.Duration
}

// task is one method of Runner.
type task func(*Runner, context.Context, State) (State, error)

// plainTasks are those whose input is the state; AwaitOutput has its own.
var plainTasks = map[string]task{
	"Admit": (*Runner).Admit, "Provision": (*Runner).Provision, "Advance": (*Runner).Advance,
	"Start": (*Runner).Start, "Follow": (*Runner).Follow, "Teardown": (*Runner).Teardown,
	"Finish": (*Runner).Finish, "Continue": (*Runner).Continue,
}

const awaitOutput = "AwaitOutput"

// Tasks are the tasks by the names that run.asl.json has for them. Their errors
// have names that its Retry matches.
func (r *Runner) Tasks() map[string]asl.Task {
	tasks := map[string]asl.Task{awaitOutput: func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		return play(ctx, input, func(ctx context.Context, in Await) (struct{}, error) {
			return struct{}{}, r.AwaitOutput(ctx, in)
		})
	}}
	for name, t := range plainTasks {
		tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			return play(ctx, input, func(ctx context.Context, s State) (State, error) { return t(r, ctx, s) })
		}
	}
	return tasks
}

func play[In, Out any](ctx context.Context, input json.RawMessage, f func(context.Context, In) (Out, error)) (json.RawMessage, error) {
	var in In
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("reading the input of a task: %w", err)
	}
	out, err := f(ctx, in)
	if err != nil {
		return nil, &asl.Error{Name: ErrorName(err), Cause: err.Error()}
	}
	return json.Marshal(out)
}

// ErrorName is the name of an error for Retry and Catch: Berth and the code in
// camel case, such as Berth.TimedOut.
func ErrorName(err error) string {
	name := "Berth."
	for _, word := range strings.Split(string(berth.CodeOf(err)), "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// transient reports whether err says nothing about the run: trying again may help.
func transient(err error) bool {
	switch berth.CodeOf(err) {
	case berth.CodeUnavailable, berth.CodeTimedOut, berth.CodeRateLimited, berth.CodeInternal, berth.CodeStale:
		return true
	}
	return false
}

// changeLive changes a run that is still going; change is not called for one
// that has ended or is gone, and live is false then.
func (r *Runner) changeLive(ctx context.Context, id berth.RunID, change func(*records.Change) error) (head records.Head, live bool, err error) {
	head, err = r.Records.ChangeRun(ctx, id, func(c *records.Change) error {
		if live = !c.Head.Status.Ended(); !live {
			return records.ErrUnchanged
		}
		return change(c)
	})
	if berth.CodeOf(err) == berth.CodeNotFound {
		return head, false, nil
	}
	return head, live && err == nil, err
}

// findLive returns the head of a run that is still going.
func (r *Runner) findLive(ctx context.Context, id berth.RunID) (head records.Head, live bool, err error) {
	head, err = r.Records.FindHead(ctx, id)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return head, false, nil
	}
	return head, err == nil && !head.Status.Ended(), err
}

// ending reports whether how the run ends is decided.
func ending(h records.Head) bool { return h.Outcome != nil || h.CancelRequested }

// decide records how a run ends, unless that is decided already, and goes to Teardown.
func (r *Runner) decide(ctx context.Context, s State, o records.Outcome) (State, error) {
	_, _, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if ending(c.Head) {
			return records.ErrUnchanged
		}
		c.Head.Outcome = &o
		return nil
	})
	return s.to(NextTeardown), err
}

// fail is decide with a failure.
func (r *Runner) fail(ctx context.Context, s State, reason berth.Reason) (State, error) {
	return r.decide(ctx, s, records.Outcome{Status: berth.RunFailed, Reason: &reason})
}
