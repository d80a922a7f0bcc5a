package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func hostDrainCommand(a *app) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "drain HOST...", Short: "Place nothing more on hosts",
		Long: `Place no new sandbox on hosts. What runs there goes on. With --undo they take
sandboxes again.`,
		Example: "  berth host drain eu-1\n  berth host drain --undo eu-1",
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take new sandboxes again")
	return a.onHosts(cmd, func(ctx context.Context, c *client.Client, id berth.HostID) error {
		h, err := c.DrainHost(ctx, id, !undo)
		if err != nil {
			return err
		}
		if undo {
			a.note("host %s takes new sandboxes; it is %s", h.ID, h.Status)
		} else {
			a.note("host %s takes no new sandbox; it is %s", h.ID, h.Status)
		}
		return nil
	})
}
