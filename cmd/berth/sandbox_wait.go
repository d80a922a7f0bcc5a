package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

const (
	// waitLimit bounds how long a sandbox that is being made is waited for: pulls and
	// builds included.
	waitLimit     = 30 * time.Minute
	firstWaitLook = 100 * time.Millisecond // between two looks, and growing
	lastWaitLook  = 2 * time.Second
)

// findReady is findSandbox for who wants into it: one that is being made is waited
// for, with what it is at on standard error. One that is in another state is
// returned as it is. A signal ends the waiting; nil is for commands that signals
// end anyway.
func (a *app) findReady(ctx context.Context, c *client.Client, arg string, signals <-chan os.Signal) (berth.Sandbox, error) {
	sandbox, err := findSandbox(ctx, c, arg)
	if err != nil || sandbox.Status != berth.SandboxCreating {
		return sandbox, err
	}
	if run, err := c.FindRun(ctx, sandbox.Run); err == nil && run.Status.Ended() {
		return sandbox, nil // nobody makes it any more
	}
	ctx, stop := context.WithCancel(ctx)
	var interrupted bool
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			interrupted = true
			stop()
		case <-ctx.Done():
		}
	})
	view := a.view()
	sandbox, err = a.untilMade(ctx, c, view, sandbox)
	view.Close()
	stop()
	listening.Wait()
	switch {
	case interrupted:
		return sandbox, exitStatus(statusCancelled)
	case err == nil && sandbox.Reason != nil && (sandbox.Status == berth.SandboxFailed || sandbox.Status == berth.SandboxDestroyed):
		return sandbox, &berth.Error{
			Code: berth.CodeConflict, Message: "sandbox " + string(sandbox.ID) + " could not be made: " + sandbox.Reason.Message,
			Remediation: sandbox.Reason.Remediation,
		}
	}
	return sandbox, err
}

// untilMade looks at a sandbox until it is not being made any more. Error: timed_out
// when that takes too long.
func (a *app) untilMade(ctx context.Context, c *client.Client, view *terminal.View, sandbox berth.Sandbox) (berth.Sandbox, error) {
	begun := a.clock.Now()
	view.Note("berth: waiting for sandbox %s, which is being made", sandbox.ID)
	told := ""
	for look := firstWaitLook; sandbox.Status == berth.SandboxCreating; look = min(2*look, lastWaitLook) {
		detail := string(sandbox.Status)
		if sandbox.Reason != nil {
			detail = sandbox.Reason.Message
			if sandbox.Unmade() && detail != told { // a person is to know at once
				view.Note("berth: sandbox: %s", terminal.Clean(detail))
			}
			told = detail
		}
		view.Busy("sandbox "+detail, begun)
		if a.clock.Now().Sub(begun) > waitLimit {
			return sandbox, &berth.Error{
				Code: berth.CodeTimedOut, Message: "sandbox " + string(sandbox.ID) + " is still being made after " + terminal.Span(waitLimit),
				Remediation: "look at its run with `berth runs show " + string(sandbox.Run) + "`",
			}
		}
		if err := a.clock.Sleep(ctx, look); err != nil {
			return sandbox, err
		}
		now, err := c.FindSandbox(ctx, sandbox.ID)
		if berth.CodeOf(err) == berth.CodeNotFound {
			now, err = inPlaceOf(ctx, c, sandbox, err)
		}
		if err != nil {
			return sandbox, err
		}
		sandbox = now
	}
	return sandbox, nil
}

// inPlaceOf is the sandbox that a run has by now instead of the planned one, whose
// record is missing: the run took one of the pool. Where it took none, missing says
// so.
func inPlaceOf(ctx context.Context, c *client.Client, planned berth.Sandbox, missing error) (berth.Sandbox, error) {
	run, err := c.FindRun(ctx, planned.Run)
	switch {
	case err != nil:
		return planned, err
	case run.Sandbox == "" || run.Sandbox == planned.ID:
		return planned, missing
	}
	return c.FindSandbox(ctx, run.Sandbox)
}
