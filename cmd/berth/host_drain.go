package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/client"
)

func hostDrainCommand(a *app) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "drain HOST...", Short: "Place nothing more on hosts",
		Long: `Place no new sandbox on hosts. What runs there goes on. With --undo they take
sandboxes again.`,
		Example:           "  berth host drain eu-1\n  berth host drain --undo eu-1",
		Args:              someArgs("the host"),
		ValidArgsFunction: a.completeHosts,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(arg string) error { return a.hostDrain(cmd.Context(), c, arg, !undo) })
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take new sandboxes again")
	return cmd
}

func (a *app) hostDrain(ctx context.Context, c *client.Client, arg string, draining bool) error {
	id, err := hostID(arg)
	if err != nil {
		return err
	}
	h, err := c.DrainHost(ctx, id, draining)
	if err != nil {
		return err
	}
	if draining {
		a.note("host %s takes no new sandbox; it is %s", h.ID, h.Status)
	} else {
		a.note("host %s takes new sandboxes; it is %s", h.ID, h.Status)
	}
	return nil
}
