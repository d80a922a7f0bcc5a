package runner

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// TendEvery is the time between two looks at the pools.
const TendEvery = 2 * time.Second

// retryPooled is how long the place of a sandbox that could not be made stays
// empty.
const retryPooled = time.Minute

// KeepPools keeps the pools as their environments want them, until ctx ends.
func (r *Runner) KeepPools(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.TendPools(ctx); err != nil && ctx.Err() == nil {
			r.Logger.Warn("the pools could not be tended", "error", err)
		}
		if r.Clock.Sleep(ctx, TendEvery) != nil {
			return
		}
	}
}

// HasPools reports whether there is a pool to look after: one that an environment
// wants, or sandboxes that are still to be destroyed. Those of providers that are
// off do not count.
func (r *Runner) HasPools(ctx context.Context) (bool, error) {
	wanted, err := r.wantedPools(ctx)
	if len(wanted) > 0 || err != nil {
		return len(wanted) > 0, err
	}
	pooled, err := r.Records.ListPooled(ctx, "")
	if err != nil {
		return false, err
	}
	for _, p := range pooled {
		sb, err := r.Records.FindSandbox(ctx, p.Sandbox)
		if err != nil {
			return false, err
		}
		if _, err := r.Providers.Find(sb.Provider); err == nil {
			return true, nil
		}
	}
	return false, nil
}

// TendPools makes what is missing, lets in what has become ready, and destroys
// what is too many, dead, or of another recipe than its environment has by now.
func (r *Runner) TendPools(ctx context.Context) error {
	wanted, err := r.wantedPools(ctx)
	if err != nil {
		return err
	}
	pooled, err := r.Records.ListPooled(ctx, "")
	if err != nil {
		return err
	}
	var errs []error
	have := map[berth.EnvironmentID]int{}
	for _, p := range pooled {
		e, ok := wanted[p.Environment]
		if !ok || p.Recipe != recipe(e) || have[p.Environment] >= berth.PoolSize(e) {
			errs = append(errs, r.retire(ctx, p))
			continue
		}
		held, err := r.tend(ctx, p, e)
		if held {
			have[p.Environment]++
		}
		errs = append(errs, err)
	}
	for id, e := range wanted {
		for range berth.PoolSize(e) - have[id] {
			errs = append(errs, r.addPooled(ctx, e))
		}
	}
	return errors.Join(errs...)
}

// wantedPools are the environments with a pool, of providers that are on.
func (r *Runner) wantedPools(ctx context.Context) (map[berth.EnvironmentID]berth.Environment, error) {
	wanted := map[berth.EnvironmentID]berth.Environment{}
	for cursor := ""; ; {
		page, next, err := r.Records.ListEnvironments(ctx, berth.MaxQueryLimit, cursor)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if berth.PoolSize(e.Environment) == 0 {
				continue
			}
			if _, err := r.Providers.Find(e.Provider); err == nil {
				wanted[e.ID] = e.Environment
			}
		}
		if next == "" {
			return wanted, nil
		}
		cursor = next
	}
}

// tend looks at one pooled sandbox; held is false for one that was retired.
func (r *Runner) tend(ctx context.Context, p records.Pooled, e berth.Environment) (held bool, err error) {
	if p.FailedAt != nil {
		if r.Clock.Now().Sub(*p.FailedAt) < retryPooled {
			return true, nil
		}
		return false, r.retire(ctx, p)
	}
	provider, err := r.Providers.Find(e.Provider)
	if err != nil {
		return false, err
	}
	state, err := r.pooledState(ctx, provider, p, e)
	switch {
	case err != nil:
		if r.onLostHost(ctx, provider, p) {
			return false, r.retire(ctx, p)
		}
		return true, berth.Wrap(err, "looking at pooled sandbox "+string(p.Sandbox))
	case state.Status == berth.SandboxCreating || (state.Status == berth.SandboxReady && p.Ready):
		return true, nil
	case state.Status == berth.SandboxReady:
		return true, unlessStale(r.Records.ReadyPooled(ctx, p, state))
	case p.Ready: // it died; another takes its place at once
		return false, r.retire(ctx, p)
	}
	if state.Reason != nil {
		r.Logger.Warn("a pooled sandbox could not be made", "sandbox", string(p.Sandbox), "environment", string(e.ID), "reason", state.Reason.Message)
	}
	return true, unlessStale(r.Records.FailPooled(ctx, p))
}

// unlessStale forgives a race that another tender or a run has won.
func unlessStale(err error) error {
	if berth.CodeOf(err) == berth.CodeStale {
		return nil
	}
	return err
}

// pooledState asks for a sandbox that has been made, and makes the others: that
// is the same as asking, and goes on where a tender died.
func (r *Runner) pooledState(ctx context.Context, provider berth.Provider, p records.Pooled, e berth.Environment) (berth.SandboxState, error) {
	sb, err := r.Records.FindSandbox(ctx, p.Sandbox)
	if err != nil {
		return berth.SandboxState{}, err
	}
	if p.Ready {
		return provider.Describe(ctx, berth.RefOf(sb))
	}
	return provider.Provision(ctx, berth.SandboxSpec{
		ID: p.Sandbox, Installation: r.Installation, Environment: e, Labels: e.Labels, Host: sb.Host,
	})
}

// onLostHost reports whether a pooled sandbox is out of reach for good.
func (r *Runner) onLostHost(ctx context.Context, provider berth.Provider, p records.Pooled) bool {
	sb, err := r.Records.FindSandbox(ctx, p.Sandbox)
	if err != nil {
		return false
	}
	why, err := r.hostLost(ctx, provider, sb)
	return err == nil && why != ""
}

// addPooled begins to make one more, its record first. Where no host has room for
// it, there is none for now.
func (r *Runner) addPooled(ctx context.Context, e berth.Environment) error {
	provider, err := r.Providers.Find(e.Provider)
	if err != nil {
		return err
	}
	p := records.Pooled{Environment: e.ID, Sandbox: berth.SandboxID(r.Records.IDs.NewID()), Recipe: recipe(e)}
	var where berth.Placement
	if placer, ok := provider.(berth.Placer); ok {
		if where, err = placer.Place(ctx, p.Sandbox, e); err != nil || where.Wait != "" {
			return err
		}
	}
	err = r.Records.CreatePooled(ctx, p, berth.Sandbox{
		ID: p.Sandbox, Environment: e.ID, Provider: e.Provider, Status: berth.SandboxCreating, Labels: e.Labels, Host: where.Host,
	})
	if err != nil {
		return err
	}
	_, err = r.pooledState(ctx, provider, p, e)
	return berth.Wrap(err, "making pooled sandbox "+string(p.Sandbox))
}

// retire destroys a pooled sandbox, unless a run takes it at this moment.
func (r *Runner) retire(ctx context.Context, p records.Pooled) error {
	sb, err := r.Records.FindSandbox(ctx, p.Sandbox)
	if err != nil {
		return err
	}
	retired, err := r.Records.RetirePooled(ctx, p)
	if err != nil || !retired {
		return err
	}
	return r.destroyRetired(ctx, p, sb)
}

func (r *Runner) destroyRetired(ctx context.Context, p records.Pooled, sb berth.Sandbox) error {
	provider, err := r.Providers.Find(sb.Provider)
	if err != nil {
		return err
	}
	if err := provider.Destroy(ctx, berth.RefOf(sb)); err != nil {
		return berth.Wrap(err, "destroying pooled sandbox "+string(p.Sandbox))
	}
	return r.Records.DeleteSandbox(ctx, p.Sandbox)
}

// The two ways in which a run of an environment with a pool gets its sandbox.
const (
	fromPool = "claimed"
	madeCold = "cold"
)

// takeWarm gives a run a warm sandbox if there is one. Unlike claim it decides
// nothing when there is none: one may be ready when the run is let in.
func (r *Runner) takeWarm(ctx context.Context, head records.Head, def berth.Definition) (taken bool, err error) {
	changed, _, err := r.changeLive(ctx, head.ID, func(c *records.Change) error {
		if c.Head.Pool != "" || ending(c.Head) {
			return records.ErrUnchanged
		}
		claimed, err := c.ClaimPooled(ctx, recipe(def.Environment))
		if err != nil || !claimed {
			return unlessNone(err)
		}
		c.Head.Pool = fromPool
		c.Event(berth.Event{Kind: berth.EventSandboxProgress, Message: tookWarm})
		return nil
	})
	return changed.Pool == fromPool, err
}

const tookWarm = "took a warm sandbox from the pool"

// unlessNone ends a change without a write, unless there is an error.
func unlessNone(err error) error {
	if err == nil {
		return records.ErrUnchanged
	}
	return err
}

// claim decides, once a run, whether it takes a warm sandbox or makes its own.
func (r *Runner) claim(ctx context.Context, provider berth.Provider, head records.Head, def berth.Definition) (records.Head, error) {
	if berth.PoolSize(def.Environment) == 0 {
		return head, nil
	}
	if head.Pool == "" {
		changed, _, err := r.changeLive(ctx, head.ID, func(c *records.Change) error {
			if c.Head.Pool != "" {
				return records.ErrUnchanged
			}
			claimed, err := c.ClaimPooled(ctx, recipe(def.Environment))
			c.Head.Pool = madeCold
			if claimed {
				c.Head.Pool = fromPool
				c.Event(berth.Event{Kind: berth.EventSandboxProgress, Message: tookWarm})
			}
			return err
		})
		if err != nil {
			return head, err
		}
		head = changed
	}
	if head.Pool != fromPool {
		return head, nil
	}
	sb, err := r.Records.FindSandbox(ctx, head.Sandbox)
	if err != nil {
		return head, err
	}
	state, err := provider.Describe(ctx, berth.RefOf(sb))
	if err != nil || (state.Status != berth.SandboxFailed && state.Status != berth.SandboxStopped) {
		return head, err
	}
	// It died in the pool: it is made again under its id.
	return head, provider.Destroy(ctx, berth.RefOf(sb))
}
