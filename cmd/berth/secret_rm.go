package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/client"
)

func secretRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove secrets",
		Long:              "Remove secrets for good. Environments that refer to one cannot start runs until it is set again.",
		Example:           "  berth secret rm API_TOKEN",
		Args:              someArgs("the secret's name"),
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachOnServer(args, "removed secret %s", func(c *client.Client, name string) error {
				return c.DeleteSecret(cmd.Context(), name)
			})
		},
	}
}
