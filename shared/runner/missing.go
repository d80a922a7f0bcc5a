package runner

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
)

// StartMissing starts the executions that live runs should have and the
// orchestrator does not know: those of a server that died between recording a
// run and starting it. It is for where no other process can be about to do the
// same; elsewhere the sweeper finds them, with patience.
func (r *Runner) StartMissing(ctx context.Context) error {
	live, err := r.Records.ListLiveRuns(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range live {
		errs = append(errs, berth.Wrap(r.startMissing(ctx, id), "starting run "+string(id)))
	}
	return errors.Join(errs...)
}

func (r *Runner) startMissing(ctx context.Context, id berth.RunID) error {
	head, live, err := r.findLive(ctx, id)
	if err != nil || !live {
		return err
	}
	execution := ExecutionID(id, head.Execution)
	x, err := r.Orchestrator.Describe(ctx, execution)
	if err != nil || x.Status != berth.ExecutionMissing {
		return err
	}
	return r.Orchestrator.Start(ctx, execution, Input(id))
}
