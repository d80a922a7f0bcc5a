package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Continue starts the next execution of the run, which goes on where this one
// is. Delivered again it starts the same one.
func (r *Runner) Continue(ctx context.Context, s State) (State, error) {
	present := sequence(s.Run, s.Execution)
	if present == 0 {
		return s, berth.Errorf(berth.CodeInternal, "execution %s is none of run %s", s.Execution, s.Run)
	}
	_, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if c.Head.Execution != present {
			return records.ErrUnchanged
		}
		c.Head.Execution = present + 1
		return nil
	})
	if err != nil || !live {
		return s, err
	}
	return s, r.Orchestrator.Start(ctx, ExecutionID(s.Run, present+1), Input(s.Run))
}
