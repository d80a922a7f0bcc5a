package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/client"
)

func runsRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm RUN...", Short: "Remove ended runs with their logs",
		Long:              "Remove runs that have ended, with their history and logs. A live run is a conflict: cancel it first.",
		Example:           "  berth runs rm 01k5m3v9x2qf",
		Args:              someArgs("the run's id"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachOnServer(args, "removed run %s", func(c *client.Client, arg string) error {
				return c.DeleteRun(cmd.Context(), runID(arg))
			})
		},
	}
}
