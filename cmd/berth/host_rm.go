package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func hostRemoveCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "rm HOST...", Short: "Remove hosts",
		Long: `Remove hosts: their keys count no more, and the server forgets how to reach them.
A host with sandboxes on it is not removed, kept ones included, unless by --force:
their runs are lost then, and what is left on the machine stays there.`,
		Example: "  berth host rm eu-1\n  berth host rm --force eu-1",
	}
	cmd.Flags().BoolVar(&force, "force", false, "also with sandboxes on it, whose runs are lost")
	return a.onHosts(cmd, func(ctx context.Context, c *client.Client, id berth.HostID) error {
		if err := c.RemoveHost(ctx, id, force); err != nil {
			return err
		}
		a.note("removed host %s", id)
		return nil
	})
}
