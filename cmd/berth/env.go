package main

import (
	"github.com/spf13/cobra"
)

func envCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "env", Aliases: []string{"environment", "environments"}, Short: "Manage environments",
		Long: `Manage the server's environments: reusable configuration for sandboxes under a
name. The fields, and what each means on each provider, are in docs/environments.md.`,
		Example: `  berth env list
  berth env create ci --provider docker --image buildpack-deps:noble --cpu 2 --memory 4GB
  berth env edit ci --set resources.memory=8GB`,
	},
		envListCommand(a), envShowCommand(a), envCreateCommand(a), envEditCommand(a), envRemoveCommand(a),
		envCheckCommand(a), envImportCommand(a), envExportCommand(a))
}
