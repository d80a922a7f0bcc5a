package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func hostCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "host", Aliases: []string{"hosts"}, Short: "Manage the machines that sandboxes are on",
		Long: `Manage hosts: machines with Docker that run berth-agent, where docker sandboxes are
made. A sandbox is placed on the host with the most cores left; a run waits in the
queue while none has room. With labels such as host.zone=a, an environment is
placed only on hosts that have the label zone=a.`,
		Example: "  berth host add eu-1 --label zone=a\n  berth host list\n  berth host drain eu-1\n  berth host rm eu-1",
	},
		hostAddCommand(a), hostListCommand(a), hostShowCommand(a), hostDrainCommand(a), hostRemoveCommand(a))
}

// hostID is an argument that names a host.
func hostID(arg string) (berth.HostID, error) { return berth.ParseHostID(arg) }

// onHosts lets a command do something to each host that is named.
func (a *app) onHosts(cmd *cobra.Command, do func(context.Context, *client.Client, berth.HostID) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = someArgs("the host"), a.completeHosts
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		defer c.Close()
		return a.forEach(args, func(arg string) error {
			id, err := hostID(arg)
			if err != nil {
				return err
			}
			return do(cmd.Context(), c, id)
		})
	}
	return cmd
}
