package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
	"github.com/berth-dev/berth/shared/tunnel"
)

func sandboxSSHCommand(a *app) *cobra.Command {
	var ttl string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ssh SANDBOX|RUN", Aliases: []string{"shell"}, Short: "Open a shell in a sandbox, on this terminal",
		Long: `Open a shell in a sandbox, in its workspace and with the variables of its
environment, on this terminal: with line editing, colours and full-screen
programs. Every key goes to the sandbox, Ctrl-C too.

The shell comes straight from the host or the server that has the sandbox, with a
ticket that is good once. Where neither can reach it (daytona; ssh and exe on AWS;
an ssh host that cannot hold berth's guest) the provider's own command line is
shown and run: its shell has none of the environment's variables. When this side
goes away, the shell and all that it started are ended; what is to go on is
started by berth exec or a run.

Exit status: the shell's own; 125 berth itself failed or the shell was lost.`,
		Example: `  berth sandbox ssh 01k5m3v9x2qg
  berth sandbox ssh --json 01k5m3v9x2qg`,
		Args:              exactArgs("the sandbox's id"),
		Annotations:       map[string]string{passThrough: "yes"},
		ValidArgsFunction: firstOnly(a.completeReadySandboxes),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sandboxSSH(cmd.Context(), args[0], ttl, asJSON)
		},
	}
	cmd.Flags().StringVar(&ttl, "ttl", "", "let what is opened be used to get in for this `time`, such as 30m (default: the provider's own)")
	jsonFlag(cmd, &asJSON, "what was opened, and run nothing,")
	return cmd
}

func (a *app) sandboxSSH(ctx context.Context, arg, ttl string, asJSON bool) error {
	return a.enter(ctx, arg, ttl, func(c *client.Client, id berth.SandboxID, ttl berth.Duration) error {
		req := berth.ShellRequest{Terminal: a.terminalName(), TTL: ttl}
		in, onTerminal := a.stdin.(*os.File)
		if onTerminal = onTerminal && terminal.Is(a.stdin); onTerminal {
			req.Window = windowOf(in)
		}
		access, err := c.OpenShell(ctx, id, req)
		switch {
		case err != nil:
			return err
		case asJSON:
			return a.printJSON(access)
		case access.Command == "" && access.Ticket == nil:
			return berth.Errorf(berth.CodeInternal, "the server opened neither a command line nor a ticket")
		case !onTerminal:
			return &berth.Error{
				Code: berth.CodeInvalid, Message: "standard input is no terminal",
				Remediation: "run commands from a pipe or a script with `berth exec " + string(id) + " -- bash`",
			}
		case access.Command != "":
			a.note("the shell of this command line has none of the environment's variables")
			return a.runSSH(ctx, access.Command)
		}
		stream, err := tunnel.Dial(ctx, *access.Ticket)
		if err != nil {
			return err
		}
		return a.attachShell(ctx, in, stream)
	})
}

// terminalName is TERM, where it can be one.
func (a *app) terminalName() string {
	name := a.env["TERM"]
	if err := (berth.StreamSpec{Kind: berth.StreamShell, Terminal: name}).Check(); err != nil {
		return ""
	}
	return name
}

func windowOf(f *os.File) berth.Window {
	columns, rows := terminal.Size(f)
	const most = 1<<16 - 1
	return berth.Window{Columns: uint16(min(columns, most)), Rows: uint16(min(rows, most))}
}

// errHungUp is the end of a shell by a signal to this program.
var errHungUp = errors.New("this program was ended")
