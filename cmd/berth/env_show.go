package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

func envShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show one environment",
		Long:              "Show one environment as TOML, or as JSON with every field.",
		Example:           "  berth env show ci\n  berth env show ci --json",
		Args:              exactArgs("the environment's name"),
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.envShow(cmd.Context(), berth.EnvironmentID(args[0]), asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}

func (a *app) envShow(ctx context.Context, id berth.EnvironmentID, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := c.FindEnvironment(ctx, id)
	if err != nil {
		return nearEnvironment(ctx, c, id, err)
	}
	if asJSON {
		return a.printJSON(e.Environment)
	}
	text, err := environmentTOML(e.Environment, nil)
	if err != nil {
		return err
	}
	return a.printf("%s", text)
}
