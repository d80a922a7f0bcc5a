package main

import (
	"cmp"
	"fmt"
	"strings"

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

// synonyms are other programs' words for what is called otherwise here.
var synonyms = map[string]string{
	"get": "show", "describe": "show", "inspect": "show", "delete": "rm", "remove": "rm",
	"new": "create", "update": "edit", "kill": "cancel",
}

// unknownCommand is the error of a command that cmd does not have, with what was
// perhaps meant: the nearest one that it has, what goes by another name here, or
// what others have by that name.
func unknownCommand(cmd *cobra.Command, name string) error {
	e := berth.Errorf(berth.CodeInvalid, "%q is not a command of `%s`", name, cmd.CommandPath())
	e.Remediation = fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	meant := namesakes(cmd, name)
	if near := cmp.Or(nearestCommand(cmd, name), nearestCommand(cmd, synonyms[name])); near != "" {
		meant = []string{"`" + cmd.CommandPath() + " " + near + "`"}
	}
	if len(meant) > 0 && len(meant) <= 2 { // more would be a guess
		e.Remediation = "did you mean " + strings.Join(meant, " or ") + "?"
	}
	return e
}

// namesakes are the commands below those of cmd that have the name.
func namesakes(cmd *cobra.Command, name string) []string {
	var found []string
	for _, group := range cmd.Commands() {
		for _, sub := range group.Commands() {
			if sub.IsAvailableCommand() && (sub.Name() == name || sub.HasAlias(name)) {
				found = append(found, "`"+sub.CommandPath()+"`")
			}
		}
	}
	return found
}
