package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

// helpCommand is `berth help COMMAND`, which is the same as its --help; one that
// there is not is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Show the help of a command",
		Example:           "  berth help env create",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return berth.Errorf(berth.CodeInvalid, "%s", err.Error())
			case len(rest) > 0:
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func completeCommands(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, sub := range found.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// unknownCommand is the error of a command that cmd does not have, with the
// nearest one that it has.
func unknownCommand(cmd *cobra.Command, name string) error {
	e := berth.Errorf(berth.CodeInvalid, "%q is not a command of `%s`", name, cmd.CommandPath())
	e.Remediation = fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	if near := nearestCommand(cmd, name); near != "" {
		e.Remediation = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near)
	}
	return e
}
