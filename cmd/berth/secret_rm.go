package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/terminal"
)

func secretRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove secrets",
		Long:              "Remove secrets for good. Environments that refer to one cannot start runs until it is set again.",
		Example:           "  berth secret rm API_TOKEN",
		Args:              someArgs("the secret's name"),
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(name string) error {
				if err := c.DeleteSecret(cmd.Context(), name); err != nil {
					return err
				}
				a.note("removed secret %s", terminal.Clean(name))
				return nil
			})
		},
	}
}
