package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/terminal"
)

func runsCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN...", Short: "End live runs",
		Long:              "Ask for the end of live runs: their processes are killed and their sandboxes go as at every end.",
		Example:           "  berth runs cancel 01k5m3v9x2qf",
		Args:              someArgs("the run's id"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(arg string) error {
				if err := c.CancelRun(cmd.Context(), runID(arg)); err != nil {
					return err
				}
				a.note("run %s is being cancelled", terminal.Clean(arg))
				return nil
			})
		},
	}
}
