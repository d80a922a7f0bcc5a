package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

func envCheckCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check NAME", Short: "Check that an environment can be used, without a run",
		Long:              "Resolve an environment's variables and secrets, map its fields to the provider, and see whether the provider can be reached. Ends with 2 when a check is an error.",
		Example:           "  berth env check ci",
		Args:              exactArgs("the environment's name"),
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			id := berth.EnvironmentID(args[0])
			report, err := c.CheckEnvironment(cmd.Context(), id)
			if err != nil {
				return nearEnvironment(cmd.Context(), c, id, err)
			}
			return a.printPreflight(report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}
