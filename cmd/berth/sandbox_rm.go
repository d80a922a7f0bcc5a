package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func sandboxRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm SANDBOX...", Short: "Destroy sandboxes",
		Long:              "Destroy sandboxes with everything in them. One of the providers local and ssh leaves its folder as it is: it is yours. One that a live run uses is a conflict: cancel the run.",
		Example:           "  berth sandbox rm 01k5m3v9x2qg",
		Args:              someArgs("the sandbox's id"),
		ValidArgsFunction: a.completeSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachSandbox(cmd.Context(), args, "destroyed", func(c *client.Client, id berth.SandboxID) error {
				return c.DestroySandbox(cmd.Context(), id)
			})
		},
	}
}
