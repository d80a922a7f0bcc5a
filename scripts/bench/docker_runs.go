package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// The environment with a pool.
const (
	benchPool = "bench-pool"
	poolSize  = 4
)

// pooled is the time from a run's submission to its sandbox being ready, out of
// the pool.
func (d *dockerRows) pooled(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "sandbox ready, from the pool", anchor: "Engine API create + start", budget: 0.05}
	if err := d.environment(ctx, benchPool, poolSize, false); err != nil {
		return r, err
	}
	p.block, p.blocks = poolSize, 5
	a, b, err := pairClock(p, func() (func() error, error) {
		begin := time.Now()
		run, err := s.CreateRun(ctx, berth.RunRequest{Environment: benchPool, Command: []string{"true"}})
		if err != nil {
			return nil, err
		}
		var ready time.Duration
		err = s.FollowEvents(ctx, run.ID, 0, func(e berth.Event) error {
			if e.Kind == berth.EventRunStatus && e.Status == string(berth.RunRunning) {
				ready = time.Since(begin)
			}
			return nil
		})
		if err == nil && ready == 0 {
			err = fmt.Errorf("run %s never was running", run.ID)
		}
		d.ready = append(d.ready, ready)
		return func() error { return d.awaitPool(ctx) }, err
	}, func() (func() error, error) {
		id, err := d.engine.start(ctx, "sleep", "3600")
		return func() error { return d.engine.remove(ctx, id) }, err
	})
	if err != nil {
		return r, err
	}
	_ = a // the whole run; the row is about its sandbox
	ready := median(d.ready)
	r.ours, r.theirs, r.ratio = show(ready), show(b), ratio(ready, b)
	return r, nil
}

func (d *dockerRows) runCold(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "`berth run -- true` on docker, cold", anchor: "`docker run --rm … true`", budget: 1.30}
	if err := d.environment(ctx, "bench-cold", 0, false); err != nil {
		return r, err
	}
	p = whole(p)
	p.block = max(1, p.block/2)
	a, b, err := pair(p, s.cli(ctx, "run", "--environment", "bench-cold", "--target", "none", "--", "true"),
		process(ctx, "docker", "run", "--rm", d.image, "true"))
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

func (d *dockerRows) runPooled(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "`berth run -- true` on docker, pooled", anchor: "`docker run --rm … true`", budget: 0.50}
	if err := d.environment(ctx, benchPool, poolSize, false); err != nil {
		return r, err
	}
	p.block, p.blocks = poolSize, 5
	pooled := s.cli(ctx, "run", "--environment", benchPool, "--target", "none", "--", "true")
	a, b, err := pairClock(p, func() (func() error, error) {
		return func() error { return d.awaitPool(ctx) }, pooled()
	}, func() (func() error, error) {
		return func() error { return nil }, process(ctx, "docker", "run", "--rm", d.image, "true")()
	})
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

// dockerVolume prints 100 MiB with what a small image has.
const dockerVolume = `yes 012345678901234567890123456789012345678901234567890123456789012 | head -c 104857600`

func (d *dockerRows) volume(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "100 MB of output through a run on docker", anchor: "`docker run` and its logs", budget: 1.5}
	if err := d.environment(ctx, "bench-cold", 0, false); err != nil {
		return r, err
	}
	p.block, p.blocks = 1, 3
	a, b, err := pair(p, func() error {
		run, err := s.CreateRun(ctx, berth.RunRequest{Environment: "bench-cold", Script: dockerVolume})
		if err != nil {
			return err
		}
		return s.readAll(ctx, run, 100<<20)
	}, func() error { return d.engineVolume(ctx) })
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	r.note = "server's peak resident set " + peak(s.cmd.Process.Pid)
	return r, err
}

// engineVolume runs the same script in a container and follows its logs.
func (d *dockerRows) engineVolume(ctx context.Context) error {
	id, err := d.engine.start(ctx, "bash", "-c", dockerVolume)
	if err != nil {
		return err
	}
	defer d.engine.remove(ctx, id)
	logs, err := d.engine.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, Follow: true})
	if err != nil {
		return err
	}
	defer logs.Close()
	n, err := io.Copy(io.Discard, logs)
	if err == nil && n < 100<<20 {
		err = fmt.Errorf("the logs have %d bytes", n)
	}
	return err
}
