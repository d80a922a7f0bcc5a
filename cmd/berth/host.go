package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
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
