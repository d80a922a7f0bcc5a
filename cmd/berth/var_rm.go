package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/client"
)

func varRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove variables",
		Example:           "  berth var rm REGION",
		Args:              someArgs("the variable's name"),
		ValidArgsFunction: a.completeVariables,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachOnServer(args, "removed variable %s", func(c *client.Client, name string) error {
				return c.DeleteVariable(cmd.Context(), name)
			})
		},
	}
}
