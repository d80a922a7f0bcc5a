package main

import "github.com/spf13/cobra"

func secretCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "secret", Aliases: []string{"secrets"}, Short: "Manage secrets",
		Long: `Manage secrets. A value goes in and never comes out again: environments refer to
it as {{ secrets.NAME }}, and it is masked in all output.`,
		Example: "  berth secret set API_TOKEN\n  printf %s \"$TOKEN\" | berth secret set API_TOKEN\n  berth secret list",
	},
		secretSetCommand(a), secretListCommand(a), secretRemoveCommand(a))
}
