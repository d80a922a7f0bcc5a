package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// placed is where a run's sandbox is to be made; a Wait holds the run up.
type placed struct {
	berth.Placement
	// decided says that the run is to make a sandbox of its own although its
	// environment has a pool.
	decided bool
}

// mostEvicted is how many warm sandboxes make room for one run at a time.
const mostEvicted = 4

// place finds a host for the run's sandbox, where its provider has hosts. A warm
// sandbox that waits for such a run goes before; those that wait for other runs
// make room for this one.
func (r *Runner) place(ctx context.Context, head records.Head) (placed, error) {
	def, err := r.Records.FindDefinition(ctx, head.ID)
	if err != nil {
		return placed{}, err
	}
	provider, err := r.Providers.Find(def.Environment.Provider)
	if err != nil {
		return placed{}, nil // Provision says so
	}
	placer, ok := provider.(berth.Placer)
	if !ok {
		return placed{}, nil
	}
	if berth.PoolSize(def.Environment) > 0 {
		if warm, err := r.takeWarm(ctx, head, def); err != nil || warm {
			return placed{}, berth.Wrap(err, "taking a sandbox from the pool")
		}
	}
	p, err := placer.Place(ctx, head.Sandbox, def.Environment)
	for range mostEvicted {
		if err != nil || p.Wait == "" {
			break
		}
		evicted, evictErr := r.evict(ctx, placer, def.Environment)
		if evictErr != nil {
			return placed{}, evictErr
		}
		if !evicted {
			break
		}
		p, err = placer.Place(ctx, head.Sandbox, def.Environment)
	}
	return placed{p, berth.PoolSize(def.Environment) > 0}, berth.Wrap(err, "placing sandbox "+string(head.Sandbox))
}

// evict destroys a warm sandbox on a host that would have room without, so that a
// run does not wait for what nobody uses.
func (r *Runner) evict(ctx context.Context, placer berth.Placer, e berth.Environment) (evicted bool, err error) {
	pooled, err := r.Records.ListPooled(ctx, "")
	if err != nil || len(pooled) == 0 {
		return false, err
	}
	if wait, err := placer.Survey(ctx, e); err != nil || wait == "" {
		return false, nil //nolint:nilerror // no host would take it: nothing is gained
	}
	for _, p := range pooled {
		if p.Recipe == recipe(e) && p.Environment == e.ID {
			continue // it is going to be this run's, or the next one's
		}
		sb, err := r.Records.FindSandbox(ctx, p.Sandbox)
		if err != nil || sb.Host == "" {
			continue
		}
		retired, err := r.Records.RetirePooled(ctx, p)
		if err != nil {
			return false, err
		}
		if !retired {
			continue
		}
		// Its place is free from here on, as its record says destroyed. Where this
		// task may not reach the host, the sweeper destroys it a little later.
		if err := r.destroyRetired(ctx, p, sb); err != nil {
			r.Logger.Warn("a warm sandbox that made room is left to the sweeper", "sandbox", string(p.Sandbox), "error", err)
		}
		return true, nil
	}
	return false, nil
}

// unreachable reports whether err says that nobody answered.
func unreachable(err error) bool {
	code := berth.CodeOf(err)
	return code == berth.CodeUnavailable || code == berth.CodeTimedOut
}

// hostLost says why the host of a sandbox is not to be waited for any more; empty
// when it is, and for sandboxes without a host.
func (r *Runner) hostLost(ctx context.Context, provider berth.Provider, sb berth.Sandbox) (why string, err error) {
	placer, ok := provider.(berth.Placer)
	if !ok || sb.Host == "" {
		return "", nil
	}
	return placer.HostLost(ctx, sb.Host)
}

// lostExit is the exit of a command on a host that is lost.
func lostExit(why string) berth.Exit {
	return berth.Exit{Code: -1, Reason: berth.ExitLost, Message: why}
}

// lostOn is how a run ends whose host is lost.
func lostOn(why string) records.Outcome {
	exit := lostExit(why)
	return records.Outcome{
		Status: berth.RunFailed, Exit: &exit,
		Reason: &berth.Reason{Code: berth.ReasonLost, Message: why, Remediation: "Look at the host, and start the run again."},
	}
}

// Lose ends a run whose sandbox is out of reach for good, without asking for the
// sandbox; a run that has ended stays as it is.
func (r *Runner) Lose(ctx context.Context, id berth.RunID, why string) error {
	_, live, err := r.findLive(ctx, id)
	if err != nil || !live {
		return err
	}
	s := State{Run: id}
	if _, err := r.decide(ctx, s, lostOn(why)); err != nil {
		return err
	}
	if err := r.settle(ctx, id, destroy); err != nil {
		return err
	}
	_, err = r.Finish(ctx, s)
	return err
}

// unprovisioned goes on with a run whose host did not answer while its sandbox was
// to be made: it waits for the host until that is lost.
func (r *Runner) unprovisioned(ctx context.Context, s State, provider berth.Provider, sb berth.Sandbox, cause error) (State, error) {
	why, err := r.hostLost(ctx, provider, sb)
	switch {
	case err != nil:
		return s, err
	case why != "":
		return r.decide(ctx, s, lostOn(why))
	}
	r.Logger.Warn("a host does not answer", "run", string(s.Run), "host", string(sb.Host), "error", cause)
	return r.loop(s, NextWait, doubling(s.Polls, longestWait)), nil
}

// startLater is how long a command whose host did not answer is held back.
const startLater = 5 // seconds

// unstarted goes on with a stage whose host did not answer when its command was to
// be started: Follow sends it back to Start after a while.
func (r *Runner) unstarted(ctx context.Context, s State, provider berth.Provider, sb berth.Sandbox, cause error) (State, error) {
	why, err := r.hostLost(ctx, provider, sb)
	if err != nil {
		return s, err
	}
	r.Logger.Warn("a host does not answer", "run", string(s.Run), "host", string(sb.Host), "error", cause)
	_, _, err = r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if ending(c.Head) {
			return records.ErrUnchanged
		}
		c.Head.Unstarted = s.Stage
		if why != "" {
			o := lostOn(why)
			c.Head.Outcome, c.Head.Unstarted = &o, ""
		}
		return nil
	})
	return s.to(NextFollow), err
}

// startAgain is Follow for a stage that Start could not start: after a pause,
// Advance sends it to Start again.
func (r *Runner) startAgain(ctx context.Context, s State) (State, error) {
	if s.Polls == 0 {
		return r.loop(s, NextPause, startLater), nil
	}
	_, _, err := r.changeLive(ctx, s.Run, func(c *records.Change) error {
		if c.Head.Unstarted == "" {
			return records.ErrUnchanged
		}
		c.Head.Unstarted = ""
		return nil
	})
	return s.to(NextAdvance), err
}

// unfollowed goes on with a command whose host did not answer: it is followed
// again until the host is lost. A run that is to end does not wait for that.
func (r *Runner) unfollowed(ctx context.Context, s State, f *follower, sb berth.Sandbox, cause error) (State, error) {
	if sb.Host == "" || !unreachable(cause) {
		return s, cause
	}
	why, err := r.hostLost(ctx, f.provider, sb)
	if err != nil {
		return s, err
	}
	if f.heardAny {
		s.Polls = 0
	}
	switch {
	case why != "":
		exit := lostExit(why)
		for ended := false; !ended && err == nil; {
			ended, err = f.flush(ctx, &exit)
		}
		return s.to(NextAdvance), err
	case f.cancelled:
		return s.to(NextAdvance), nil
	}
	r.Logger.Warn("a host does not answer", "run", string(s.Run), "host", string(sb.Host), "error", cause)
	return r.loop(s, NextPause, doubling(s.Polls, longestPoll)), nil
}
