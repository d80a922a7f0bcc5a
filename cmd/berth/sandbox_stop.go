package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func sandboxStopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop SANDBOX...", Short: "Stop sandboxes: their commands end, their files stay",
		Example:           "  berth sandbox stop 01k5m3v9x2qg",
		Args:              someArgs("the sandbox's id"),
		ValidArgsFunction: a.completeRunningSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachSandbox(cmd.Context(), args, "stopped", func(c *client.Client, id berth.SandboxID) error {
				_, err := c.StopSandbox(cmd.Context(), id)
				return err
			})
		},
	}
}
