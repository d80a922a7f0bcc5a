package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func envListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List environments",
		Example: "  berth env list\n  berth env list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.envList(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) envList(ctx context.Context, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	environments, err := collect(client.All(ctx, c.ListEnvironments))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Environment]{Items: environments})
	}
	if len(environments) == 0 {
		a.note("no environments; make one with `berth env create`")
		return nil
	}
	var t terminal.Table
	t.Row("ENVIRONMENT", "PROVIDER", "IMAGE", "CPU", "MEMORY", "NETWORK")
	for _, e := range environments {
		t.Row(string(e.ID), string(e.Provider), imageText(e), cpuText(e.Resources), sizeText(e.Resources.Memory), string(e.Network.Mode))
	}
	return t.Print(a.stdout, "")
}

func imageText(e berth.Environment) string {
	switch {
	case e.Image.Docker != nil:
		return *e.Image.Docker
	case e.Image.Dockerfile != nil:
		return "Dockerfile"
	case e.Daytona != nil && e.Daytona.Snapshot != "":
		return e.Daytona.Snapshot
	case e.Exe != nil:
		return cmp.Or(e.Exe.Image, "-")
	}
	return "-"
}

func cpuText(r berth.Resources) string {
	if r.CPU == nil {
		return "-"
	}
	return strconv.Itoa(*r.CPU)
}

func sizeText(s *berth.Size) string {
	if s == nil {
		return "-"
	}
	return string(*s)
}
