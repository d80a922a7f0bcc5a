package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

func sandboxShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show SANDBOX|RUN", Short: "Show one sandbox and how to get in",
		Example:           "  berth sandbox show 01k5m3v9x2qg",
		Args:              exactArgs("the sandbox's id"),
		ValidArgsFunction: a.completeSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sandboxShow(cmd.Context(), args[0], asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}

func (a *app) sandboxShow(ctx context.Context, arg string, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := findSandbox(ctx, c, arg)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(s)
	}
	return a.sandboxPage(s).Print(a.stdout, "")
}

func (a *app) sandboxPage(s berth.Sandbox) *terminal.Table {
	var t terminal.Table
	line := func(name, value string) {
		if value != "" {
			t.Row(name, value)
		}
	}
	line("sandbox", string(s.ID))
	line("status", string(s.Status))
	if s.Reason != nil {
		line("reason", s.Reason.Code+": "+s.Reason.Message)
		line("to do", s.Reason.Remediation)
	}
	line("run", string(s.Run))
	line("environment", string(s.Environment)+" ("+string(s.Provider)+")")
	line("host", string(s.Host))
	line("workspace", s.Workspace)
	line("ref", s.Ref)
	line("get in", s.Hint)
	line("kept", a.keptText(s))
	line("labels", labelsText(s.Labels))
	line("created", a.when(&s.CreatedAt))
	line("changed", a.when(&s.UpdatedAt))
	return &t
}
