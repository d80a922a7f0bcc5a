package serverless

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/stepfn"
)

// Task is the handler of a task of the state machine, by the name that
// run.asl.json has for it. Error: not_found.
func (w *Wiring) Task(name string) (func(context.Context, json.RawMessage) (json.RawMessage, error), error) {
	task, ok := w.Runner().Tasks()[name]
	if !ok {
		return nil, berth.Errorf(berth.CodeNotFound, "the state machine has no task %s", name)
	}
	return stepfn.Handler(name, task, w.Logger), nil
}

// Sweeper is the handler of the sweep, whatever event brings it about: the clock,
// or an execution that ended in another way than by itself. It first makes what
// a new installation lacks.
func (w *Wiring) Sweeper() func(context.Context, json.RawMessage) (runner.Swept, error) {
	providers := w.withoutLending()
	return func(ctx context.Context, _ json.RawMessage) (runner.Swept, error) {
		if err := w.Settle(ctx); err != nil {
			return runner.Swept{}, err
		}
		r := w.Runner()
		r.Providers = providers
		swept, err := r.Sweep(ctx)
		err = errors.Join(err, r.TendPools(ctx))
		if err != nil {
			w.Logger.WarnContext(ctx, "the sweep was not complete", "error", err.Error())
		}
		w.Logger.InfoContext(ctx, "swept", "destroyed", swept.Destroyed, "restarted", swept.Restarted, "ended", swept.Ended)
		return swept, err
	}
}

// Settle records since when the installation exists, and makes the default
// environment, each once. It is for the first thing that happens after a
// deployment, and does no harm later.
func (w *Wiring) Settle(ctx context.Context) error {
	own := *w.Records
	own.IDs = named(w.Variables.Installation)
	if _, err := own.OpenInstallation(ctx); err != nil {
		return berth.Wrap(err, "recording the installation")
	}
	return berth.Wrap(w.Records.SeedOnce(ctx, berth.SeedEnvironment()), "making the default environment")
}

// named gives the record of the installation the id that its functions were
// deployed with.
type named berth.InstallationID

var _ berth.IDs = named("")

func (n named) NewID() string { return string(n) }
