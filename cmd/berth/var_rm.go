package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/terminal"
)

func varRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove variables",
		Example:           "  berth var rm REGION",
		Args:              someArgs("the variable's name"),
		ValidArgsFunction: a.completeVariables,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(name string) error {
				if err := c.DeleteVariable(cmd.Context(), name); err != nil {
					return err
				}
				a.note("removed variable %s", terminal.Clean(name))
				return nil
			})
		},
	}
}
