package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func envRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove environments",
		Long:              "Remove environments. Runs that were made from them keep what they were made with.",
		Example:           "  berth env rm ci",
		Args:              someArgs("the environment's name"),
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachOnServer(args, "removed environment %s", func(c *client.Client, name string) error {
				return removeEnvironment(cmd.Context(), c, name)
			})
		},
	}
}

func removeEnvironment(ctx context.Context, c *client.Client, name string) error {
	e, err := c.FindEnvironment(ctx, berth.EnvironmentID(name))
	if err != nil {
		return nearEnvironment(ctx, c, berth.EnvironmentID(name), err)
	}
	return c.DeleteEnvironment(ctx, e.ID, e.ETag)
}
