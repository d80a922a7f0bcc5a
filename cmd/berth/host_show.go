package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func hostShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show HOST", Short: "Show one host and the sandboxes on it",
		Example:           "  berth host show eu-1\n  berth host show eu-1 --json",
		Args:              exactArgs("the host"),
		ValidArgsFunction: firstOnly(a.completeHosts),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.hostShow(cmd.Context(), args[0], asJSON) },
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}

func (a *app) hostShow(ctx context.Context, arg string, asJSON bool) error {
	id, err := hostID(arg)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	h, err := c.FindHost(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(h)
	}
	sandboxes, err := collect(client.All(ctx, c.ListSandboxes))
	if err != nil {
		return err
	}
	sandboxes = slices.DeleteFunc(sandboxes, func(s berth.Sandbox) bool { return s.Host != id || s.Status == berth.SandboxDestroyed })
	return a.hostPage(h, sandboxes).Print(a.stdout, "")
}

func (a *app) hostPage(h berth.Host, sandboxes []berth.Sandbox) *terminal.Table {
	var t terminal.Table
	line := func(name, value string) {
		if value != "" {
			t.Row(name, value)
		}
	}
	line("host", string(h.ID))
	line("status", string(h.Status))
	line("seen", a.seen(h))
	line("address", h.Address)
	line("fingerprint", h.Fingerprint)
	line("public url", h.PublicURL)
	line("labels", labelsText(h.Labels))
	if h.CPU > 0 {
		line("cores", number(int64(h.CPU), " "+h.Architecture))
		line("memory", number(h.MemoryBytes/1e6, " MB"))
		line("free disk", number(h.DiskBytes/1e6, " MB"))
	}
	line("agent", h.Version)
	line("created", a.when(&h.CreatedAt))
	var there []string
	for _, s := range sandboxes {
		there = append(there, string(s.ID)+" "+string(s.Status))
	}
	line("sandboxes", strings.Join(there, ", "))
	return &t
}
