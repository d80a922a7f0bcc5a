package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func sandboxListCommand(a *app) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List sandboxes",
		Example: "  berth sandbox list\n  berth sandbox list --all --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.sandboxList(cmd.Context(), all, asJSON) },
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also those that have been destroyed")
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) sandboxList(ctx context.Context, all, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	sandboxes := []berth.Sandbox{}
	for s, err := range client.All(ctx, c.ListSandboxes) {
		if err != nil {
			return err
		}
		if all || (s.Status != berth.SandboxDestroyed && s.Status != berth.SandboxGone) {
			sandboxes = append(sandboxes, s)
		}
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Sandbox]{Items: sandboxes})
	}
	if len(sandboxes) == 0 {
		a.note("no sandboxes")
		return nil
	}
	return a.sandboxTable(sandboxes)
}

func (a *app) sandboxTable(sandboxes []berth.Sandbox) error {
	var ids []string
	for _, s := range sandboxes {
		ids = append(ids, string(s.ID), string(s.Run))
	}
	short := shortIDs(ids)
	var t terminal.Table
	t.Row("SANDBOX", "STATUS", "ENVIRONMENT", "PROVIDER", "RUN", "CREATED", "KEPT")
	for _, s := range sandboxes {
		t.Row(short[string(s.ID)], string(s.Status), string(s.Environment), string(s.Provider), short[string(s.Run)],
			a.ago(s.CreatedAt), a.keptText(s))
	}
	return t.Print(a.stdout, "")
}

func (a *app) keptText(s berth.Sandbox) string {
	switch {
	case s.KeepUntil != nil:
		return "for " + terminal.Span(s.KeepUntil.Sub(a.clock.Now()))
	case s.Preserved:
		return "yes"
	case s.KeptAfterRun && (s.Status == berth.SandboxCreating || s.Status == berth.SandboxReady):
		return "once its run ends"
	}
	return "no"
}
