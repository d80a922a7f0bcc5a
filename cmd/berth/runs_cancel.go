package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/client"
)

func runsCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN...", Short: "End live runs",
		Long:              "Ask for the end of live runs: their processes are killed and their sandboxes go as at every end.",
		Example:           "  berth runs cancel 01k5m3v9x2qf",
		Args:              someArgs("the run's id"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachOnServer(args, "run %s is being cancelled", func(c *client.Client, arg string) error {
				return c.CancelRun(cmd.Context(), runID(arg))
			})
		},
	}
}
