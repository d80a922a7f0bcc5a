package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

func runsCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "runs", Aliases: []string{"ps"}, Short: "List, show, cancel and remove runs, and read their logs",
		Example: "  berth runs list\n  berth runs show 01k5m3v9x2qf\n  berth runs logs -f 01k5m3v9x2qf",
	},
		runsListCommand(a), runsShowCommand(a), runsLogsCommand(a), runsCancelCommand(a), runsRemoveCommand(a))
}

// runID is an id or prefix as a person typed it.
func runID(arg string) berth.RunID { return berth.RunID(berth.FoldID(arg)) }
