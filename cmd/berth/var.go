package main

import "github.com/spf13/cobra"

func varCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "var", Aliases: []string{"vars", "variable"}, Short: "Manage variables",
		Long: `Manage variables: plain values that environments refer to as {{ vars.NAME }}. They
are read when a run is created. For what nobody may see there are secrets.`,
		Example: "  berth var set REGION eu-central-1\n  berth var list",
	},
		varSetCommand(a), varListCommand(a), varRemoveCommand(a))
}
