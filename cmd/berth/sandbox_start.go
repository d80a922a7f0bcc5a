package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func sandboxStartCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "start SANDBOX...", Short: "Start sandboxes that were stopped",
		Example:           "  berth sandbox start 01k5m3v9x2qg",
		Args:              someArgs("the sandbox's id"),
		ValidArgsFunction: a.completeStoppedSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachSandbox(cmd.Context(), args, "started", func(c *client.Client, id berth.SandboxID) error {
				_, err := c.StartSandbox(cmd.Context(), id)
				return err
			})
		},
	}
}
