package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func envRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Short: "Remove environments",
		Long:              "Remove environments. Runs that were made from them keep what they were made with.",
		Example:           "  berth env rm ci",
		Args:              someArgs("the environment's name"),
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(name string) error { return a.envRemove(cmd.Context(), c, name) })
		},
	}
}

func (a *app) envRemove(ctx context.Context, c *client.Client, name string) error {
	e, err := c.FindEnvironment(ctx, berth.EnvironmentID(name))
	if err != nil {
		return err
	}
	if err := c.DeleteEnvironment(ctx, e.ID, e.ETag); err != nil {
		return err
	}
	a.note("removed environment %s", terminal.Clean(name))
	return nil
}
