package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func sandboxCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "sandbox", Aliases: []string{"sandboxes", "sb"}, Short: "List, show, enter, stop, start and remove sandboxes",
		Long: `Look after sandboxes: the concrete instances that runs are given. Most go away with
their run; --preserve-sandbox and an environment's lifecycle keep them.`,
		Example: "  berth sandbox list\n  berth sandbox ssh 01k5m3v9x2qg\n  berth sandbox preview 01k5m3v9x2qg 8080\n  berth sandbox stop 01k5m3v9x2qg\n  berth sandbox rm 01k5m3v9x2qg",
	},
		sandboxListCommand(a), sandboxShowCommand(a), sandboxStopCommand(a), sandboxStartCommand(a), sandboxRemoveCommand(a),
		sandboxSSHCommand(a), sandboxPreviewCommand(a))
}

// findSandbox takes the id of a sandbox, or of the run that it was made for; a
// prefix that fits one of each is a conflict, unless they belong together.
func findSandbox(ctx context.Context, c *client.Client, arg string) (berth.Sandbox, error) {
	id := berth.FoldID(arg)
	if !berth.IsIDPrefix(id) {
		return berth.Sandbox{}, berth.Errorf(berth.CodeInvalid, "%q is no id of a sandbox or run: it takes the first 6 to 26 characters of one", arg)
	}
	sandbox, err := c.FindSandbox(ctx, berth.SandboxID(id))
	if err == nil && berth.IsULID(id) {
		return sandbox, nil
	}
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return sandbox, err
	}
	run, runErr := c.FindRun(ctx, berth.RunID(id))
	switch {
	case berth.CodeOf(runErr) == berth.CodeNotFound && err == nil:
		return sandbox, nil
	case berth.CodeOf(runErr) == berth.CodeNotFound:
		missing := berth.Errorf(berth.CodeNotFound, "no sandbox and no run begins with %s", id)
		missing.Remediation = "`berth sandbox list` and `berth runs list` show those that there are"
		return sandbox, missing
	case runErr != nil:
		return sandbox, runErr
	case err == nil && sandbox.ID != run.Sandbox:
		return sandbox, berth.Errorf(berth.CodeConflict, "%s begins sandbox %s and run %s", id, sandbox.ID, run.ID)
	case err == nil:
		return sandbox, nil
	case run.Sandbox == "":
		return sandbox, noSandbox(run)
	}
	if sandbox, err = c.FindSandbox(ctx, run.Sandbox); berth.CodeOf(err) == berth.CodeNotFound {
		return inPlaceOf(ctx, c, berth.Sandbox{ID: run.Sandbox, Run: run.ID}, err)
	}
	return sandbox, err
}

func noSandbox(run berth.Run) error {
	e := berth.Errorf(berth.CodeConflict, "run %s is %s and has no sandbox", run.ID, run.Status)
	if run.Status.Ended() {
		e.Remediation = "run it again with --preserve-sandbox to keep one"
	} else {
		e.Remediation = "wait until it is running"
	}
	return e
}

// eachSandbox does the same to every sandbox that is named.
func (a *app) eachSandbox(ctx context.Context, args []string, done string, do func(*client.Client, berth.SandboxID) error) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return a.forEach(args, func(arg string) error {
		sandbox, err := findSandbox(ctx, c, arg)
		if err != nil {
			return err
		}
		if err := do(c, sandbox.ID); err != nil {
			return err
		}
		a.note("%s sandbox %s", done, sandbox.ID)
		return nil
	})
}
