package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

type execFlags struct {
	dir, timeout, script string
	env                  []string
	noStdin              bool
}

func execCommand(a *app) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec [flags] SANDBOX|RUN (-- COMMAND [ARGUMENT...] | -c SCRIPT)",
		Short: "Run a command in a sandbox that is there",
		Long: `Run a command in a sandbox, with the variables of its environment, show its output
as it comes, and end with its status. The sandbox is named by its id or by the
run that it was made for; one that is being made is waited for.

Standard input is passed on; --no-stdin leaves it to others, such as a shell loop
that reads it. The sandbox gets no terminal: bash -i is a shell without line
editing. INT (Ctrl-C), TERM and HUP are passed on; a second one of the same kind
leaves the command running.

Exit status: the command's own; 124 timed out, 125 berth itself failed or the
command was lost, 130 cancelled, 137 out of memory.`,
		Example: `  berth exec 01k5m3v9x2qf -- ps aux
  berth exec 01k5m3v9x2qf -- bash -i
  berth exec --dir sub --env MODE=debug 01k5m3v9x2qf -- ./inspect -v
  tar c src | berth exec 01k5m3v9x2qf -- tar x`,
		Annotations:       map[string]string{passThrough: "yes"},
		ValidArgsFunction: firstOnly(a.completeLiveSandboxes),
		RunE: func(cmd *cobra.Command, args []string) error {
			sandbox, req, err := a.execRequest(cmd, f, args)
			if err != nil {
				return err
			}
			return a.exec(cmd.Context(), sandbox, req)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "`folder` to start in, absolute or relative to the workspace")
	flags.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` variable beside the environment's own; may be repeated")
	flags.StringVar(&f.timeout, "timeout", "", "end the command after this `time`, such as 90s")
	flags.StringVarP(&f.script, "script", "c", "", "run this `script` with bash -c, instead of a command after --")
	flags.BoolVarP(&f.noStdin, "no-stdin", "n", false, "leave standard input alone")
	return cmd
}

func (a *app) execRequest(cmd *cobra.Command, f execFlags, args []string) (sandbox string, req berth.CommandRequest, err error) {
	before, argv, dash := splitAtDash(cmd, args)
	scripted := cmd.Flags().Changed("script")
	switch {
	case len(before) == 0:
		return "", req, usagef(cmd, "the id of a sandbox or run is missing")
	case len(before) > 1:
		e := berth.Errorf(berth.CodeInvalid, "%q stands before `--`", before[1])
		e.Remediation = "put `--` before the command to run: berth exec SANDBOX -- COMMAND ARGUMENTS"
		return "", req, e
	case scripted && len(argv) > 0:
		return "", req, usagef(cmd, "give a command after `--` or a script with -c, not both")
	case scripted && f.script == "", !scripted && (!dash || len(argv) == 0):
		return "", req, usagef(cmd, "there is nothing to run: give a command after `--` or a script with -c")
	}
	env, err := pairs(cmd, "env", f.env)
	if err != nil {
		return "", req, err
	}
	timeout, err := span("timeout", f.timeout)
	if err != nil {
		return "", req, err
	}
	return before[0], berth.CommandRequest{
		Command: argv, Script: f.script, Dir: f.dir, Env: env, Timeout: timeout,
		Stdin: !f.noStdin && !terminal.InBackground(a.stdin),
	}, nil
}

func (a *app) exec(ctx context.Context, arg string, req berth.CommandRequest) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	defer keepBrokenPipes()()
	signals, stop := a.signals()
	defer stop()
	sandbox, err := a.findReady(ctx, c, arg, signals)
	if err != nil {
		return err
	}
	command, err := c.StartCommand(ctx, sandbox.ID, req)
	if err != nil {
		return err
	}
	x := execution{app: a, client: c, sandbox: sandbox.ID, command: command.ID}
	exit, err := x.attend(ctx, req.Stdin, signals)
	if err != nil {
		return err
	}
	if exit.Reason != berth.ExitExited && exit.Reason != berth.ExitSignalled {
		a.note("the command ended: %s", exitText(exit))
	}
	return withStatus(statusOfExit(exit))
}

// execution is one command that a person or script waits for.
type execution struct {
	app     *app
	client  *client.Client
	sandbox berth.SandboxID
	command berth.CommandID
}

// attend passes input, output and signals until the command has ended.
func (x execution) attend(ctx context.Context, stdin bool, signals <-chan os.Signal) (berth.Exit, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	forwarded := x.forwardSignals(ctx, signals, leave)
	defer func() { leave(nil); <-forwarded }()
	if stdin {
		// Not waited for: a read of standard input cannot be called back, and
		// the process ends with the command.
		go x.passInput(ctx, leave)
	}
	view := terminal.New(terminal.Options{Chatter: x.app.stderr, Now: x.app.clock.Now, Quiet: x.app.quiet})
	frames := x.app.frameWriter(view)
	exit, err := x.client.FollowOutput(ctx, x.sandbox, x.command, 0, func(o berth.OutputReply) error {
		for _, frame := range o.Frames {
			if err := frames.write(frame); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return berth.Exit{}, x.broken(ctx, err)
	case exit == nil:
		return berth.Exit{}, berth.Errorf(berth.CodeInternal, "command %s ended without an exit", x.command)
	}
	return *exit, nil
}

// broken says what becomes of a command whose output is not followed any more.
func (x execution) broken(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errLeft):
		x.app.note("left command %s; it goes on in sandbox %s", x.command, x.sandbox)
		return exitStatus(statusCancelled)
	case cause != nil && !errors.Is(cause, context.Canceled):
		x.end(ctx)
		return cause // the input could not be passed on, and the command waits for it
	case isBrokenPipe(err):
		x.end(ctx)
		x.app.note("nobody reads the output; ended command %s", x.command)
		return exitStatus(statusOwn)
	}
	return fmt.Errorf("following command %s: %w", x.command, err)
}

// end ends the command's whole process tree; it may have ended by itself.
func (x execution) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	_ = x.client.SignalCommand(ctx, x.sandbox, x.command, berth.CancelSignal)
}
