package runner

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// keptUnpreserved is how long a sandbox that is neither preserved nor stopped
// outlives its run.
const keptUnpreserved = 24 * time.Hour

// fate is what becomes of a sandbox at the end of its run.
type fate int

const (
	destroy      fate = iota
	stop              // and keep
	leave             // running, and keep
	leaveForADay      // running, until the run is deleted or the time is up
	unmade            // nothing was ever made of it
)

// fateOf is the table of the lifecycle.
func fateOf(l berth.Lifecycle) fate {
	switch {
	case l.Preserve && l.StopOnTerminal:
		return stop
	case l.Preserve:
		return leave
	case l.StopOnTerminal:
		return destroy
	}
	return leaveForADay
}

// Teardown destroys, stops or keeps the sandbox. What no retry got over becomes
// the run's outcome first, unless there is one.
func (r *Runner) Teardown(ctx context.Context, s State) (State, error) {
	head, live, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if c.Head.Outcome != nil {
			return records.ErrUnchanged
		}
		o := outcomeOfFailure(c.Head, s.Failure)
		c.Head.Outcome = &o
		return nil
	})
	if err != nil || !live {
		return s, err
	}
	sb, provider, err := r.sandboxOf(ctx, head)
	switch {
	case sb.Unmade() && sb.Status == berth.SandboxCreating:
		return s, r.settle(ctx, s.Run, unmade)
	case sb.Unmade():
		return s, nil
	}
	if berth.CodeOf(err) == berth.CodeUnsupported && sb.Status == berth.SandboxCreating {
		// It was of no use to anybody: what was made, if anything, the sweeper destroys
		// once the provider is on again.
		return s, r.settle(ctx, s.Run, destroy)
	}
	if err != nil || sb.Status == berth.SandboxDestroyed {
		return s, err
	}
	def, err := r.Records.FindDefinition(ctx, s.Run)
	if err != nil {
		return s, err
	}
	what := fateOf(def.Environment.Lifecycle)
	if sb.Status != berth.SandboxReady && sb.Status != berth.SandboxStopped {
		what = destroy // it never was of use
	}
	switch why, err := r.hostLost(ctx, provider, sb); {
	case err != nil:
		return s, err
	case why != "":
		return s, r.settle(ctx, s.Run, onLostHost(what))
	}
	if what, err = r.carryOut(ctx, provider, berth.RefOf(sb), head, what); err != nil {
		return s, berth.Wrap(err, "ending sandbox "+string(sb.ID))
	}
	return s, r.settle(ctx, s.Run, what)
}

// onLostHost is the fate of a sandbox whose host is out of reach. One that is to be
// destroyed counts as that: the sweeper does it if the host comes back.
func onLostHost(what fate) fate {
	if what == stop {
		return leave
	}
	return what
}

// carryOut does to the sandbox what its fate is. One that is gone counts as destroyed.
func (r *Runner) carryOut(ctx context.Context, provider berth.Provider, ref berth.SandboxRef, head records.Head, what fate) (fate, error) {
	if what == destroy {
		return destroy, provider.Destroy(ctx, ref)
	}
	state, err := provider.Describe(ctx, ref)
	if err != nil {
		return what, err
	}
	if state.Status == berth.SandboxGone {
		return destroy, provider.Destroy(ctx, ref)
	}
	if what == stop {
		return stop, provider.Stop(ctx, ref)
	}
	if head.Stage == "" {
		return what, nil
	}
	// The run is over although its command is not: nobody would end it.
	stage, err := r.Records.FindStage(ctx, head.ID, head.Stage)
	if err == nil {
		err = provider.Cancel(ctx, ref, stage.Command)
	}
	if berth.CodeOf(err) == berth.CodeNotFound {
		err = nil
	}
	return what, err
}

// settle records what became of the sandbox, and how to get back into it.
func (r *Runner) settle(ctx context.Context, run berth.RunID, what fate) error {
	_, _, err := r.changeLive(ctx, run, func(c *records.Change) error {
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return err
		}
		switch what {
		case unmade:
			if c.Head.Outcome.Status == berth.RunCancelled {
				c.SetSandboxStatus(sb, berth.SandboxDestroyed, c.Head.Outcome.Reason)
				return nil
			}
			reason := *c.Head.Outcome.Reason
			reason.Code = berth.ReasonUnreachable
			c.SetSandboxStatus(sb, berth.SandboxFailed, &reason)
			return nil
		case destroy:
			var reason *berth.Reason
			if sb.Status == berth.SandboxCreating {
				reason = c.Head.Outcome.Reason // why it never was of use
			}
			c.SetSandboxStatus(sb, berth.SandboxDestroyed, reason)
			return nil
		case stop:
			c.SetSandboxStatus(sb, berth.SandboxStopped, nil)
			sb.Preserved = true
		case leave:
			sb.Preserved = true
		case leaveForADay:
			if sb.KeepUntil == nil {
				until := r.Clock.Now().Add(keptUnpreserved)
				sb.KeepUntil = &until
			}
		}
		c.Head.Hint = hint(*sb)
		return nil
	})
	return err
}

// shortID is as much of an id as people see.
const shortID = 12

func hint(sb berth.Sandbox) string {
	id := string(sb.ID)[:min(shortID, len(sb.ID))]
	if sb.Status == berth.SandboxStopped {
		return "berth sandbox start " + id + " && berth exec " + id + " -- bash -i"
	}
	if sb.Hint != "" {
		return sb.Hint
	}
	return "berth exec " + id + " -- bash -i"
}

// outcomeOfFailure is how a run ends that a task's failure has ended.
func outcomeOfFailure(head records.Head, f *Failure) records.Outcome {
	if head.CancelRequested {
		return cancelled()
	}
	reason := berth.Reason{Code: berth.ReasonExecutionFailed, Message: "the run's execution ended without a result"}
	if head.Status == berth.RunProvisioning {
		reason.Code = berth.ReasonProvisionFailed
	}
	if f != nil {
		reason.Message = f.Cause
		if f.Cause == "" {
			reason.Message = f.Error
		}
	}
	return records.Outcome{Status: berth.RunFailed, Reason: &reason}
}
