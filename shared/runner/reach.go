package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Reacher is the optional power of a provider to say at once whether it can be
// reached, without making anything. Its errors are unavailable or timed_out then;
// whatever else it says, Provision says better.
type Reacher interface {
	Reach(ctx context.Context, e berth.Environment) error
}

const (
	// reachLimit is for one try to reach a provider. A host may take long to let
	// somebody in.
	reachLimit = 20 * time.Second
	// leastReach is what a last try has at least.
	leastReach = 5 * time.Second
)

// untried reports whether the provider was surely never asked for this sandbox.
func untried(sb berth.Sandbox) bool {
	return sb.Status == berth.SandboxCreating && sb.Ref == "" && (sb.Reason == nil || sb.Unmade())
}

// approach goes before Provision: it looks whether the provider of an untried
// sandbox is there, and then records that it is asked. So a sandbox counts as unmade
// only where Provision was never called, whatever becomes of this task. Providers
// that cannot say whether they are there cost no write.
func (r *Runner) approach(ctx context.Context, provider berth.Provider, sb berth.Sandbox, run berth.RunID, e berth.Environment, t try) (*fault, error) {
	reacher, ok := provider.(Reacher)
	if !ok || !untried(sb) {
		return nil, nil
	}
	if err := r.reach(ctx, reacher, run, e, t.reachTime()); err != nil {
		return &fault{err, true}, nil
	}
	wanted := false
	_, _, err := r.changeLive(ctx, run, func(c *records.Change) error {
		if wanted = !ending(c.Head); !wanted {
			return records.ErrUnchanged
		}
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		if !untried(*sb) {
			return records.ErrUnchanged
		}
		c.Head.Unanswered = nil
		sb.Reason, sb.UpdatedAt = &berth.Reason{Code: reasonProgress, Message: "asking the provider"}, r.Clock.Now()
		return nil
	})
	if err == nil && !wanted {
		return &fault{berth.Errorf(berth.CodeUnavailable, "the run is to end"), true}, nil
	}
	return nil, err
}

// reach asks a provider whether it is there. Its error says that it is not, or that
// nobody wants to know any more.
func (r *Runner) reach(ctx context.Context, reacher Reacher, run berth.RunID, e berth.Environment, limit time.Duration) error {
	ctx, done := r.whileWanted(ctx, run)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := reacher.Reach(ctx, e)
	switch coded := (*berth.Error)(nil); {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.As(err, &coded):
		return &berth.Error{Code: berth.CodeTimedOut, Message: "the provider does not answer", Cause: err}
	case ctx.Err() != nil || unreachable(err):
		return err
	}
	return nil
}

// wantedLook is the time between two looks whether a run is to end.
const wantedLook = time.Second

// whileWanted is ctx for as long as the run is not to end; done lets go of it.
func (r *Runner) whileWanted(ctx context.Context, run berth.RunID) (wanted context.Context, done func()) {
	wanted, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for r.Clock.Sleep(wanted, wantedLook) == nil {
			if head, live, err := r.findLive(wanted, run); err == nil && (!live || ending(head)) {
				cancel()
			}
		}
	})
	return wanted, func() { cancel(); looking.Wait() }
}
