package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/version"
)

func versionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program",
		Long:    "Print the version of this program. `berth doctor` compares it with the server's.",
		Example: "  berth version\n  berth version --json",
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			info := version.Info("")
			if asJSON {
				return a.printJSON(struct {
					Version string `json:"version"`
					Commit  string `json:"commit"`
					Go      string `json:"go"`
					API     string `json:"api"`
				}{info.Version, info.Commit, info.Go, info.API})
			}
			return a.printf("berth %s (%s, %s)\n", info.Version, info.Commit, info.Go)
		},
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}
