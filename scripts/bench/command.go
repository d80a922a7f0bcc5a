package main

import (
	"context"
	"os/exec"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// benchCommand is a command in a running sandbox, over HTTP, against a fork of
// the same shell from this process.
func benchCommand(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "command `true` over HTTP", anchor: "fork and exec of bash -c true"}
	sandbox, err := s.sandbox(ctx)
	if err != nil {
		return r, err
	}
	a, b, err := pair(p, func() error { return s.command(ctx, sandbox) }, func() error { return exec.CommandContext(ctx, "bash", "-c", "exec -- \"$@\"", "bash", "true").Run() })
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

// command runs `true` in a sandbox of the server and reads to its end.
func (s *server) command(ctx context.Context, sandbox berth.SandboxID) error {
	cmd, err := s.StartCommand(ctx, sandbox, berth.CommandRequest{Command: []string{"true"}})
	if err != nil {
		return err
	}
	_, err = s.FollowOutput(ctx, sandbox, cmd.ID, 0, func(berth.OutputReply) error { return nil })
	return err
}

// whole keeps the rows of whole processes short: they are ten times as slow.
func whole(p plan) plan {
	p.block = max(1, p.block/10)
	return p
}

// benchExec is the whole process of `berth exec`.
func benchExec(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "`berth exec ID -- true`, whole process", anchor: "`berth version`, whole process"}
	sandbox, err := s.sandbox(ctx)
	if err != nil {
		return r, err
	}
	a, b, err := pair(whole(p), s.cli(ctx, "exec", string(sandbox), "--", "true"), s.cli(ctx, "version"))
	r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
	return r, err
}

func (s *server) cli(ctx context.Context, args ...string) func() error {
	return func() error {
		cmd := exec.CommandContext(ctx, s.berth, args...)
		cmd.Env, cmd.Dir = s.env, s.dir
		return cmd.Run()
	}
}

// recordedRun is what another tool's run of the same command took where it was
// measured; that tool is not part of this run, so the row says so.
const recordedRun = 203 * time.Millisecond

// benchRun is the wall time of `berth run -- true` on local with the server up.
func benchRun(ctx context.Context, p plan, s *server) (row, error) {
	r := row{
		what: "`berth run -- true` on local, wall", anchor: "recorded time of a comparable tool", budget: 0.3,
		note: "the anchor is a recorded figure, not measured in this run",
	}
	if _, err := s.sandbox(ctx); err != nil {
		return r, err
	}
	a, b, err := pair(whole(p), s.cli(ctx, "run", "--environment", "local", "--", "true"), s.cli(ctx, "version"))
	r.ours, r.theirs, r.ratio = show(a), show(recordedRun), ratio(a, recordedRun)
	r.note += "; `berth version` takes " + show(b)
	return r, err
}
