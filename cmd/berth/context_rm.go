package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
)

func contextRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Forget contexts and their keys",
		Long: `Forget contexts and their keys on this machine, as ` + "`berth logout`" + ` does. The keys
themselves still count, until ` + "`berth key rm`" + ` removes them from the server.`,
		Example:           "  berth context rm staging",
		Args:              someArgs("the context's name"),
		ValidArgsFunction: a.completeContexts,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forEach(args, func(name string) error { return a.forget(cmd.Context(), name) })
		},
	}
}

// reservedLocal is the error of a change of the context that is always there.
func reservedLocal(name string) error {
	if name != credentials.Local {
		return nil
	}
	return berth.Errorf(berth.CodeConflict, "context %s is the server on this machine: there is no key of yours in it", name)
}
