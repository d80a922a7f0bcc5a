package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func hostListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List hosts",
		Long: `List hosts with how they stand: joining until the agent has joined, ready,
draining, or lost after five minutes without a word.`,
		Example: "  berth host list\n  berth host list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.hostList(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) hostList(ctx context.Context, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := collect(client.All(ctx, c.ListHosts))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Host]{Items: hosts})
	}
	if len(hosts) == 0 {
		a.note("no hosts; add one with `berth host add NAME`")
		return nil
	}
	var t terminal.Table
	t.Row("HOST", "STATUS", "SEEN", "CORES", "MEMORY", "ADDRESS", "LABELS")
	for _, h := range hosts {
		t.Row(string(h.ID), string(h.Status), a.seen(h), number(int64(h.CPU), ""), number(h.MemoryBytes/1e6, " MB"), h.Address, labelsText(h.Labels))
	}
	return t.Print(a.stdout, "")
}

// seen says when the host last spoke.
func (a *app) seen(h berth.Host) string {
	if h.SeenAt == nil {
		return "-"
	}
	return a.ago(*h.SeenAt)
}

// number is empty for what is not known yet.
func number(n int64, unit string) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%s", n, unit)
}
