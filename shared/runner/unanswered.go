package runner

import (
	"cmp"
	"context"
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
	// firstContact is how long a provider may be out of reach that was never reached
	// for this sandbox: nothing is lost by giving up.
	firstContact = 30 * time.Second
	// outage is how long one may leave a sandbox without an answer that it may have
	// begun to make.
	outage   = 5 * time.Minute
	tryAgain = 2 // seconds, at most, between two tries
)

// passing reports whether a provider may answer soon.
func passing(err error) bool { return unreachable(err) || berth.CodeOf(err) == berth.CodeRateLimited }

// untried reports whether the provider was never reached for this sandbox.
func untried(sb berth.Sandbox) bool {
	return sb.Ref == "" && (sb.Reason == nil || sb.Unmade())
}

// reach looks whether the provider of an untried sandbox is there. Its error says
// that it is not, or that nobody wants to know any more.
func (r *Runner) reach(ctx context.Context, provider berth.Provider, sb berth.Sandbox, run berth.RunID, e berth.Environment) error {
	reacher, ok := provider.(Reacher)
	if !ok || !untried(sb) {
		return nil
	}
	ctx, done := r.whileWanted(ctx, run)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	err := reacher.Reach(ctx, e)
	if unreachable(err) || err != nil && ctx.Err() != nil {
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

// unanswered goes on with a run whose provider did not answer while its sandbox was
// to be made: it says why, and tries again until the time is up. The machine's own
// Retry would do neither, and could not be cancelled meanwhile.
func (r *Runner) unanswered(ctx context.Context, s State, f fault) (State, error) {
	reason := reasonOf(berth.ReasonProvisionFailed, f.err)
	reason.Remediation = cmp.Or(reason.Remediation, "See whether the provider can be reached from the server, and start the run again.")
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if ending(c.Head) {
			return records.ErrUnchanged
		}
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		now, known := r.Clock.Now(), c.Head.Unanswered != nil
		if !known {
			c.Head.Unanswered = &now
		}
		state, limit := berth.Reason{Code: reasonProgress, Message: "trying again: " + reason.Message}, outage
		if f.unreached && untried(*sb) {
			state.Code, limit = berth.ReasonUnreachable, firstContact
		}
		said := sb.Reason != nil && *sb.Reason == state
		switch over := now.Sub(*c.Head.Unanswered) >= limit; {
		case over:
			c.Head.Outcome = &records.Outcome{Status: berth.RunFailed, Reason: &reason}
		case known && said:
			return records.ErrUnchanged
		}
		if !said {
			sb.Reason, sb.UpdatedAt = &state, now
			c.Event(berth.Event{Kind: berth.EventSandboxProgress, Message: state.Message, Reason: &state})
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if !live || ending(head) {
		return s.to(NextTeardown), nil
	}
	return r.loop(s, NextWait, doubling(s.Polls, tryAgain)), nil
}
