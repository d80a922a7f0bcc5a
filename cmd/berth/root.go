package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

const rootLong = `berth runs commands in named, sandboxed environments.

With no server configured, the first command that needs one starts it in the
background; it ends by itself when it has been idle for a while. ` + "`berth login`" + `
configures one elsewhere.

Environment variables:
  BERTH_SERVER       URL of the server to use instead
  BERTH_TOKEN        bearer token for it
  BERTH_CONTEXT      context to use instead of the current one
  BERTH_DATA_DIR     data folder of the server on this machine
                     ($XDG_DATA_HOME/berth unless set)
  BERTH_ENVIRONMENT  environment of runs that name none`

const rootExample = `  berth run --environment local -- make test
  berth runs show 01k5m3v9x2qf
  berth env create ci --provider docker --image buildpack-deps:noble --cpu 2 --memory 4GB
  berth secret set API_TOKEN --from-file token.txt`

func newRoot(a *app) *cobra.Command {
	root := group(&cobra.Command{
		Use: "berth", Short: "Run commands in named, sandboxed environments",
		Long: rootLong, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true,
	},
		runCommand(a), preflightCommand(a), runsCommand(a), execCommand(a), cpCommand(a), sandboxCommand(a), hostCommand(a),
		envCommand(a), secretCommand(a), varCommand(a),
		keyCommand(a), loginCommand(a), logoutCommand(a), contextCommand(a), whoamiCommand(a),
		serveCommand(a), stopCommand(a), doctorCommand(a), versionCommand(a), completionCommand(a),
	)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetHelpCommand(helpCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	flags := root.PersistentFlags()
	flags.Var((*named)(&a.server), "server", "`URL` of the server (instead of BERTH_SERVER)")
	flags.Var((*named)(&a.context), "context", "`name` of the context to use (instead of BERTH_CONTEXT); local is the server on this machine")
	flags.Var((*named)(&a.dataDir), "data-dir", "data `folder` of the server on this machine (instead of BERTH_DATA_DIR)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no chatter on standard error; errors still show")
	_ = root.RegisterFlagCompletionFunc("context", a.completeContexts)
	root.SetFlagErrorFunc(flagError)
	return root
}

// group makes cmd a command that only holds others. Without one it prints its
// help; an unknown one is an error with the nearest names.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

func nearestCommand(cmd *cobra.Command, name string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return strict.Nearest(name, names)
}

// flagError says which flag was perhaps meant, and reminds of `--`.
func flagError(cmd *cobra.Command, err error) error {
	e := berth.Errorf(berth.CodeInvalid, "%s", err.Error())
	e.Remediation = fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return e
	}
	if cmd.Annotations[passThrough] != "" {
		e.Remediation = "put `--` before the command to run: what follows it is the command's own"
	}
	if name := unknown.GetSpecifiedName(); !cmd.HasParent() && (name == "version" || name == "v") {
		e.Remediation = "did you mean `berth version`?"
		return e
	}
	if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
		e.Remediation = "did you mean --" + near + "?"
	}
	return e
}

func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return strict.Nearest(name, names)
}
