package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// dockerRows are the rows that need an engine.
type dockerRows struct {
	engine *engine
	agent  *agent
	server *server
	ref    berth.SandboxRef // of the agent
	image  string
	ready  []time.Duration // from a run's submission to its pooled sandbox
}

func openDocker(ctx context.Context, s *server, image string) (*dockerRows, error) {
	e, err := openEngine(ctx, image)
	if err != nil {
		return nil, err
	}
	d := &dockerRows{engine: e, server: s, image: image}
	if d.agent, err = openAgent(s.dir, image); err != nil {
		return nil, err
	}
	d.ref, err = d.agent.provision(ctx)
	return d, err
}

func (d *dockerRows) close(ctx context.Context) {
	if err := d.drain(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench: containers of the pool may be left:", err)
	}
	_ = d.agent.Destroy(ctx, d.ref) // what is left shows in docker ps
	d.agent.Close()
	_ = d.engine.close(ctx)
}

func (d *dockerRows) rows() []func(context.Context, plan, *server) (row, error) {
	return []func(context.Context, plan, *server) (row, error){
		d.guest, d.guestIdle, d.overHTTP, d.execProcess, d.cold, d.pooled, d.runCold, d.runPooled, d.volume,
	}
}

// drain gives the pool up and waits until its sandboxes are gone.
func (d *dockerRows) drain(ctx context.Context) error {
	pool, err := d.server.FindEnvironment(ctx, benchPool)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil
	}
	if err == nil {
		err = d.server.DeleteEnvironment(ctx, benchPool, pool.ETag)
	}
	if err != nil {
		return err
	}
	return d.await(ctx, func(ready, all int) bool { return all == 0 })
}

func (d *dockerRows) guest(ctx context.Context, p plan, _ *server) (row, error) {
	r := row{what: "guest command `true`, agent to guest", anchor: "Engine API exec", budget: 0.05}
	a, b, err := pair(p, func() error { return d.agent.command(ctx, d.ref) }, func() error { return d.engine.exec(ctx) })
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

func (d *dockerRows) guestIdle(ctx context.Context, p plan, _ *server) (row, error) {
	r := row{what: "the same after 100 ms idle", anchor: "Engine API exec, idle before it too", budget: 0.07}
	p = whole(p)
	a, b, err := pairClock(p, idleFirst(func() error { return d.agent.command(ctx, d.ref) }), idleFirst(func() error { return d.engine.exec(ctx) }))
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

// idleFirst is a call whose next one comes 100 ms later.
func idleFirst(call func() error) func() (func() error, error) {
	return func() (func() error, error) {
		return func() error { time.Sleep(100 * time.Millisecond); return nil }, call()
	}
}

// environment makes one on docker, with or without a pool.
func (d *dockerRows) environment(ctx context.Context, id string, pool int, preserve bool) error {
	body := map[string]any{
		"id": id, "provider": "docker", "image": map[string]any{"docker": d.image},
		"lifecycle": map[string]any{"preserve": preserve, "stop_on_terminal": !preserve},
	}
	if pool > 0 {
		body["docker"] = map[string]any{"pool_size": pool}
	}
	_, err := d.server.CreateEnvironment(ctx, body)
	if berth.CodeOf(err) == berth.CodeConflict {
		return nil
	}
	return err
}

// kept makes a sandbox on the server that stays.
func (d *dockerRows) kept(ctx context.Context) (berth.SandboxID, error) {
	if err := d.environment(ctx, "bench-kept", 0, true); err != nil {
		return "", err
	}
	run, err := d.server.CreateRun(ctx, berth.RunRequest{Environment: "bench-kept", Command: []string{"true"}})
	if err != nil {
		return "", err
	}
	return run.Sandbox, d.server.FollowEvents(ctx, run.ID, 0, func(berth.Event) error { return nil })
}

func (d *dockerRows) overHTTP(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "the same over HTTP to the embedded server", anchor: "Engine API exec", budget: 0.10}
	sandbox, err := d.kept(ctx)
	if err != nil {
		return r, err
	}
	defer s.DestroySandbox(ctx, sandbox)
	a, b, err := pair(p, func() error { return s.command(ctx, sandbox) }, func() error { return d.engine.exec(ctx) })
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

func (d *dockerRows) execProcess(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "`berth exec ID -- true`, whole process", anchor: "`docker exec`", budget: 0.50}
	sandbox, err := d.kept(ctx)
	if err != nil {
		return r, err
	}
	defer s.DestroySandbox(ctx, sandbox)
	a, b, err := pair(whole(p), s.cli(ctx, "exec", string(sandbox), "--", "true"), process(ctx, "docker", "exec", d.engine.idle, "true"))
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

// clock times f alone, and not the clean-up that it returns.
func clock(p plan, f func() (cleanup func() error, err error)) ([]time.Duration, error) {
	time.Sleep(p.pause)
	var took []time.Duration
	for range p.block {
		begin := time.Now()
		cleanup, err := f()
		took = append(took, time.Since(begin))
		if err != nil {
			return nil, err
		}
		if err := cleanup(); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// pairClock is pair for what has to be cleaned up after each call.
func pairClock(p plan, ours, theirs func() (func() error, error)) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	for range p.blocks {
		more, err := clock(p, ours)
		if err != nil {
			return 0, 0, err
		}
		as = append(as, more...)
		if more, err = clock(p, theirs); err != nil {
			return 0, 0, err
		}
		bs = append(bs, more...)
	}
	return median(as), median(bs), nil
}

func (d *dockerRows) cold(ctx context.Context, p plan, _ *server) (row, error) {
	r := row{what: "sandbox ready, cold", anchor: "Engine API create + start", budget: 1.15}
	p = whole(p)
	a, b, err := pairClock(p, func() (func() error, error) {
		ref, err := d.agent.provision(ctx)
		return func() error { return d.agent.Destroy(ctx, ref) }, err
	}, func() (func() error, error) {
		id, err := d.engine.start(ctx, "sleep", "3600")
		return func() error { return d.engine.remove(ctx, id) }, err
	})
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

// awaitPool waits until the pool is full again.
func (d *dockerRows) awaitPool(ctx context.Context) error {
	return d.await(ctx, func(ready, all int) bool { return ready >= poolSize })
}

// await waits until the pool's sandboxes, those that are ready and all of them,
// are as they should be.
func (d *dockerRows) await(ctx context.Context, enough func(ready, all int) bool) error {
	for range 600 {
		ready, all := 0, 0
		for sb, err := range client.All(ctx, d.server.ListSandboxes) {
			if err != nil {
				return err
			}
			if sb.Environment != benchPool || sb.Run != "" {
				continue
			}
			all++
			if sb.Status == berth.SandboxReady {
				ready++
			}
		}
		if enough(ready, all) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the pool of %s is not as it should be after a minute", benchPool)
}
