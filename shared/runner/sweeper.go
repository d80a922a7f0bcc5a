package runner

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

const (
	// SweepEvery is the time between two sweeps.
	SweepEvery = 5 * time.Minute
	// suspectFor is how long an execution must be missing or over before its run
	// is given another.
	suspectFor = 2 * time.Minute
	// maxRestarts is how many executions a run is given.
	maxRestarts = 3
)

// Swept is what one sweep did.
type Swept struct {
	Destroyed []berth.SandboxID
	Restarted []berth.RunID
	Ended     []berth.RunID
}

// Sweep puts right what died half-way: it destroys sandboxes that no live run
// has and nobody kept, and gives live runs without an execution another one, or
// ends them. It touches this installation's things only. What fails is tried
// again by the next sweep; the errors of all come back together.
func (r *Runner) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	err := errors.Join(r.sweepRuns(ctx, &swept), r.sweepSandboxes(ctx, &swept), r.healPlaces(ctx))
	return swept, err
}

// healPlaces gives back what of the hosts is held by sandboxes that are gone.
func (r *Runner) healPlaces(ctx context.Context) error {
	var errs []error
	for _, provider := range r.Providers.All() {
		if placer, ok := provider.(berth.Placer); ok {
			errs = append(errs, berth.Wrap(placer.HealPlaces(ctx), "giving back places on hosts"))
		}
	}
	return errors.Join(errs...)
}

// KeepSweeping sweeps now and then, until ctx ends.
func (r *Runner) KeepSweeping(ctx context.Context) {
	for ctx.Err() == nil {
		swept, err := r.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			r.Logger.Warn("the sweep was not complete", "error", err)
		}
		if n := len(swept.Destroyed) + len(swept.Restarted) + len(swept.Ended); n > 0 {
			r.Logger.Info("swept", "destroyed", swept.Destroyed, "restarted", swept.Restarted, "ended", swept.Ended)
		}
		if r.Clock.Sleep(ctx, SweepEvery) != nil {
			return
		}
	}
}

func (r *Runner) sweepSandboxes(ctx context.Context, swept *Swept) error {
	var errs []error
	for _, provider := range r.Providers.All() {
		states, err := provider.List(ctx)
		if err != nil {
			errs = append(errs, berth.Wrap(err, "listing sandboxes of "+string(provider.Kind())))
			continue
		}
		for _, state := range states {
			destroyed, err := r.sweepSandbox(ctx, provider, state)
			if destroyed {
				swept.Destroyed = append(swept.Destroyed, state.ID)
			}
			errs = append(errs, berth.Wrap(err, "sweeping sandbox "+string(state.ID)))
		}
		errs = append(errs, cleanUp(ctx, provider))
	}
	return errors.Join(errs...)
}

// sweepSandbox destroys a sandbox without a live run, unless it is preserved,
// pooled, or to be kept for a while.
func (r *Runner) sweepSandbox(ctx context.Context, provider berth.Provider, state berth.SandboxState) (destroyed bool, err error) {
	sb, err := r.Records.FindSandbox(ctx, state.ID)
	recorded := err == nil
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return false, err
	}
	run := state.Run
	if recorded {
		run = sb.Run
	}
	keep, err := r.keeps(ctx, run, recorded, sb)
	if err != nil {
		return false, err
	}
	if keep {
		return false, r.keepAlive(ctx, provider, run, state)
	}
	if err := provider.Destroy(ctx, berth.SandboxRef{ID: state.ID, Host: state.Host, Ref: state.Ref}); err != nil {
		return false, err
	}
	if !recorded || sb.Host != state.Host {
		return true, nil
	}
	_, err = r.Records.ChangeSandbox(ctx, state.ID, func(sb *berth.Sandbox) error {
		sb.Status, sb.KeepUntil = berth.SandboxDestroyed, nil
		return nil
	})
	return true, err
}

func (r *Runner) keeps(ctx context.Context, run berth.RunID, recorded bool, sb berth.Sandbox) (bool, error) {
	if recorded && sb.Status != berth.SandboxDestroyed {
		pooled := sb.Run == "" // made ahead of the run that will take it
		waiting := sb.KeepUntil != nil && r.Clock.Now().Before(*sb.KeepUntil)
		if pooled || sb.Preserved || waiting {
			return true, nil
		}
	}
	if run == "" {
		return false, nil
	}
	_, live, err := r.findLive(ctx, run)
	return live, err
}

func (r *Runner) sweepRuns(ctx context.Context, swept *Swept) error {
	live, err := r.Records.ListLiveRuns(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range live {
		errs = append(errs, berth.Wrap(r.sweepRun(ctx, id, swept), "sweeping run "+string(id)))
	}
	return errors.Join(errs...)
}

func (r *Runner) sweepRun(ctx context.Context, id berth.RunID, swept *Swept) error {
	head, live, err := r.findLive(ctx, id)
	if err != nil || !live {
		return err
	}
	if why, err := r.headLost(ctx, head); err != nil || why != "" {
		if err == nil {
			swept.Ended = append(swept.Ended, id)
			err = r.endRun(ctx, head, lostOn(why))
		}
		return err
	}
	x, err := r.Orchestrator.Describe(ctx, ExecutionID(id, head.Execution))
	if err != nil {
		return err
	}
	switch x.Status {
	case berth.ExecutionRunning:
		return r.suspect(ctx, head, nil)
	case berth.ExecutionAborted:
		swept.Ended = append(swept.Ended, id)
		return r.endRun(ctx, head, records.Outcome{Status: berth.RunCancelled, Reason: &berth.Reason{
			Code: berth.ReasonExecutionStopped, Message: "the run's execution was stopped from outside",
		}})
	}
	now := r.Clock.Now()
	since := head.SuspectSince
	if !x.EndedAt.IsZero() {
		since = &x.EndedAt
	}
	switch {
	case since == nil:
		return r.suspect(ctx, head, &now)
	case now.Sub(*since) < suspectFor:
		return nil
	case head.Restarts < maxRestarts:
		swept.Restarted = append(swept.Restarted, id)
		return r.restart(ctx, head)
	}
	outcome, err := r.lostOutcome(ctx, head, x)
	if err != nil {
		return err
	}
	swept.Ended = append(swept.Ended, id)
	return r.endRun(ctx, head, outcome)
}

// headLost is hostLost of a run's sandbox.
func (r *Runner) headLost(ctx context.Context, head records.Head) (why string, err error) {
	sb, provider, err := r.sandboxOf(ctx, head)
	if err != nil { // a provider that is off, or a run that is just being recorded
		return "", nil //nolint:nilerror // other rules are about those
	}
	return r.hostLost(ctx, provider, sb)
}

// suspect keeps when the execution was first found missing; nil is "it is there".
func (r *Runner) suspect(ctx context.Context, head records.Head, since *time.Time) error {
	if (head.SuspectSince == nil) == (since == nil) {
		return nil
	}
	_, _, err := r.changeLive(ctx, head.ID, func(c *records.Change) error {
		if c.Head.Execution != head.Execution {
			return records.ErrUnchanged
		}
		c.Head.SuspectSince = since
		return nil
	})
	return err
}

// restart gives the run its next execution.
func (r *Runner) restart(ctx context.Context, head records.Head) error {
	next := head.Execution + 1
	changed, live, err := r.changeLive(ctx, head.ID, func(c *records.Change) error {
		if c.Head.Execution != head.Execution {
			return records.ErrUnchanged
		}
		c.Head.Execution, c.Head.SuspectSince = next, nil
		c.Head.Restarts++
		return nil
	})
	if err != nil || !live || changed.Execution != next {
		return err
	}
	return r.Orchestrator.Start(ctx, ExecutionID(head.ID, next), Input(head.ID))
}

// lostOutcome is how a run ends that no execution brought to an end.
func (r *Runner) lostOutcome(ctx context.Context, head records.Head, x berth.Execution) (records.Outcome, error) {
	reason := &berth.Reason{Code: berth.ReasonExecutionFailed, Message: "the run's execution is " + string(x.Status)}
	if x.Error != "" || x.Cause != "" {
		reason.Message = x.Error + ": " + x.Cause
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	switch {
	case berth.CodeOf(err) == berth.CodeUnsupported:
		return records.Outcome{Status: berth.RunFailed, Reason: reason}, nil
	case err != nil:
		return records.Outcome{}, err
	case sb.Status == berth.SandboxReady:
		state, err := provider.Describe(ctx, berth.RefOf(sb))
		if err != nil {
			return records.Outcome{}, err
		}
		if state.Status == berth.SandboxGone {
			reason = &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox is gone"}
		}
	}
	return records.Outcome{Status: berth.RunFailed, Reason: reason}, nil
}

// endRun ends a run without an execution: teardown as ever, and the end even
// when that fails, for the sandbox is swept later.
func (r *Runner) endRun(ctx context.Context, head records.Head, o records.Outcome) error {
	s := State{Run: head.ID}
	if _, err := r.decide(ctx, s, o); err != nil {
		return err
	}
	_, torn := r.Teardown(ctx, s)
	_, ended := r.Finish(ctx, s)
	return errors.Join(torn, ended)
}
