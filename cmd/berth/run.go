package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func runCommand(a *app) *cobra.Command {
	var f requestFlags
	var detach, asJSON bool
	cmd := &cobra.Command{
		Use:   "run [flags] (-- COMMAND [ARGUMENT...] | -c SCRIPT)",
		Short: "Run a command or script in an environment",
		Long: `Run a command in a sandbox made from an environment, show its output as it
comes, and end with its status.

Everything after -- is the command's own and arrives exactly as typed. Its
standard output and standard error go to those of berth; what berth has to say
goes to standard error. Ctrl-C cancels the run; a second one leaves it.

Without --target, an environment on this machine (provider local) works in the
current folder; others fetch the commit that is checked out here from its origin.

Exit status: the command's own; 124 timed out, 125 berth itself failed or the
run was lost, 130 cancelled, 137 out of memory.`,
		Example: `  berth run --environment local -- make test
  berth run -e ci --timeout 10m -- go test ./...
  berth run -e ci -c 'set -e; make; make check'
  berth run -e ci --target git:https://github.com/OWNER/REPOSITORY#main -- ./build.sh
  berth run -e ci --detach --label job=nightly -- ./nightly.sh`,
		Annotations: map[string]string{passThrough: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := a.request(cmd, f, args)
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), req, detach, asJSON)
		},
	}
	f.add(a, cmd)
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "print the run's id and do not wait for its end")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON instead of the output; with --detach, the run")
	return cmd
}

func (a *app) run(ctx context.Context, req berth.RunRequest, detach, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := a.settleTarget(ctx, c, &req); err != nil {
		return nearEnvironment(ctx, c, berth.EnvironmentID(req.Environment), err)
	}
	if detach {
		return a.runDetached(ctx, c, req, asJSON)
	}
	stop := keepBrokenPipes()
	defer stop()
	return a.runAttached(ctx, c, req, asJSON)
}

func (a *app) runDetached(ctx context.Context, c *client.Client, req berth.RunRequest, asJSON bool) error {
	run, err := c.CreateRun(ctx, req)
	if err != nil {
		return nearEnvironment(ctx, c, berth.EnvironmentID(req.Environment), err)
	}
	if asJSON {
		return a.printJSON(run)
	}
	short := a.shortRun(ctx, c, run.ID)
	a.warn(run.Warnings)
	a.note("follow it with `berth runs logs -f %s`", short)
	return a.printf("%s\n", short)
}

// runAttached submits a run and shows it until its end.
func (a *app) runAttached(ctx context.Context, c *client.Client, req berth.RunRequest, asJSON bool) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	view := a.view()
	defer view.Close()
	canceller := a.cancelOnSignal(ctx, c, view, leave)
	defer canceller.close()

	view.Busy("submitting the run", a.clock.Now())
	run, err := c.CreateRun(ctx, req)
	if err != nil {
		return leftOr(ctx, nearEnvironment(ctx, c, berth.EnvironmentID(req.Environment), err))
	}
	canceller.know(ctx, run.ID)
	short := string(run.ID)
	if !a.quiet {
		short = a.shortRun(ctx, c, run.ID)
		view.Note("berth: run %s in environment %s (%s)", short, run.Environment.ID, run.Environment.Provider)
		noteWarnings(view, run.Warnings)
	}
	f := a.follower(c, view, run, asJSON)
	f.cancelling = canceller.asked
	ended, err := f.follow(ctx, 0)
	if err != nil {
		return a.followFailed(ctx, c, view, run.ID, short, err)
	}
	tellEnd(view, ended, short)
	return withStatus(statusOfRun(ended))
}

// leftOr tells the end of ctx by a second Ctrl-C from other failures.
func leftOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errLeft) {
		return exitStatus(statusCancelled)
	}
	return err
}

// followFailed cancels a run that nobody can see any more: what reads the
// output is gone, as it would be for a command on this machine.
func (a *app) followFailed(ctx context.Context, c *client.Client, view *terminal.View, id berth.RunID, short string, err error) error {
	if errors.Is(context.Cause(ctx), errLeft) {
		view.Say(fmt.Sprintf("berth: left run %s; see `berth runs show %s`", short, short))
		return exitStatus(statusCancelled)
	}
	if isBrokenPipe(err) {
		_ = c.CancelRun(context.WithoutCancel(ctx), id) // it may have ended
		view.Note("berth: nobody reads the output; cancelling run %s", short)
		return exitStatus(statusOwn)
	}
	return fmt.Errorf("following run %s: %w", id, err)
}

// tellEnd says how a run ended, why, and how to get back into what it left.
// Quiet hides what the command itself has decided.
func tellEnd(view *terminal.View, run berth.Run, short string) {
	say := view.Say
	if decidedByCommand(run) {
		say = func(line string) { view.Note("%s", line) }
	}
	say("berth: " + outcome(run, short))
	if run.Reason != nil && run.Reason.Remediation != "" {
		say("  to do: " + indentLines(run.Reason.Remediation))
	}
	if run.Hint != "" {
		view.Note("berth: the sandbox is kept; get back in with: %s", terminal.Clean(run.Hint))
	}
}

func decidedByCommand(run berth.Run) bool {
	switch {
	case run.Status == berth.RunSucceeded, run.Status == berth.RunCancelled:
		return true
	case run.Reason != nil:
		return run.Reason.Code == berth.ReasonCommandFailed
	}
	return run.Exit != nil
}

func outcome(run berth.Run, short string) string {
	line := fmt.Sprintf("run %s %s", short, run.Status)
	if run.EndedAt != nil {
		line += " after " + terminal.Span(run.EndedAt.Sub(run.CreatedAt))
	}
	switch {
	case run.Status == berth.RunSucceeded:
	case run.Status == berth.RunCancelled && (run.Reason == nil || run.Reason.Code == berth.ReasonCancelled):
	case run.Reason != nil:
		line += ": " + run.Reason.Code + ": " + terminal.Clean(run.Reason.Message)
	case run.Exit != nil:
		line += ": " + exitText(*run.Exit)
	}
	return line
}

func (a *app) warn(warnings []berth.Problem) {
	for _, w := range warnings {
		a.note("warning: %s", problemLine(w))
	}
}

func noteWarnings(view *terminal.View, warnings []berth.Problem) {
	for _, w := range warnings {
		view.Note("berth: warning: %s", problemLine(w))
	}
}

// oneLine is the first line of a text, cut for a list.
func oneLine(s string) string {
	first, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more {
		first += " …"
	}
	return terminal.Cut(terminal.Clean(first), 60)
}
