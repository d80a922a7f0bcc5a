package runner

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

const (
	// firstContact is how long a provider may be out of reach that was never reached
	// for this sandbox: nothing is lost by giving up.
	firstContact = 30 * time.Second
	// outage is how long one may leave a sandbox without an answer that it may have
	// begun to make.
	outage   = 5 * time.Minute
	tryAgain = 2 // seconds, at most, between two tries
	// forgottenAfter is how long ago a try may be that still counts: before that, the
	// server slept or was away, and so perhaps the provider was not.
	forgottenAfter = time.Minute
	// tellAgain is the time between two messages of one outage. Its cause may name a
	// port, which is another one each time.
	tellAgain = 30 * time.Second
)

// passing reports whether a provider may answer soon.
func passing(err error) bool { return unreachable(err) || berth.CodeOf(err) == berth.CodeRateLimited }

// try is one try to have the sandbox made. since is when the first of those began
// that had no answer either.
type try struct{ began, since time.Time }

func (r *Runner) try(head records.Head, s State) try {
	began := r.Clock.Now().Round(0) // a monotonic clock may stand still while the server sleeps
	since := head.Unanswered
	if since == nil || since.After(began) || began.Sub(s.Tried) > forgottenAfter {
		return try{began, began}
	}
	return try{began, *since}
}

// reachTime is how long the try may take to reach a provider that was never reached.
func (t try) reachTime() time.Duration {
	return max(leastReach, min(reachLimit, firstContact-t.began.Sub(t.since)))
}

// unanswered goes on with a run whose provider did not answer while its sandbox was
// to be made: it says why, and tries again until the time is up. The machine's own
// Retry would do neither, and could not be cancelled meanwhile.
func (r *Runner) unanswered(ctx context.Context, s State, f fault, t try) (State, error) {
	reason := reasonOf(berth.ReasonProvisionFailed, f.err)
	reason.Remediation = cmp.Or(reason.Remediation, "See whether the provider can be reached from the server, and start the run again.")
	now := r.Clock.Now().Round(0)
	if f.unreached && now.Sub(t.began) > forgottenAfter {
		t.since = now // no try takes that long: the server slept
	}
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		state, limit := berth.Reason{Code: reasonProgress, Message: tryingAgain + reason.Message}, outage
		never := f.unreached && untried(*sb)
		if never {
			state.Code, limit = berth.ReasonUnreachable, firstContact
		}
		since := t.since
		if c.Head.Unanswered == nil && since.Before(t.began) {
			since = t.began // it was reached meanwhile
		}
		switch over := now.Sub(since) >= limit; {
		case c.Head.Status == berth.RunRunning:
			return records.ErrUnchanged
		case ending(c.Head) && (!never || sb.Unmade()):
			return records.ErrUnchanged
		case ending(c.Head):
			sb.Reason, sb.UpdatedAt = &state, now // so that nobody asks for what cannot be there
			return nil
		case over:
			c.Head.Outcome = &records.Outcome{Status: berth.RunFailed, Reason: &reason}
		}
		known := c.Head.Unanswered != nil && c.Head.Unanswered.Equal(since)
		told := isTold(*sb, state, now)
		if known && told && c.Head.Outcome == nil {
			return records.ErrUnchanged
		}
		c.Head.Unanswered = &since
		if !told {
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
	s.Tried = r.Clock.Now().Round(0)
	return r.loop(s, NextWait, doubling(s.Polls, tryAgain)), nil
}

const tryingAgain = "trying again: "

// isTold reports whether people know this of the sandbox already, or something
// like it that is not long ago.
func isTold(sb berth.Sandbox, state berth.Reason, now time.Time) bool {
	if sb.Reason == nil || sb.Reason.Code != state.Code {
		return false
	}
	return *sb.Reason == state || strings.HasPrefix(sb.Reason.Message, tryingAgain) && now.Sub(sb.UpdatedAt) < tellAgain
}
