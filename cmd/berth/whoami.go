package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

func whoamiCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "whoami", Short: "Show as whom the server knows you",
		Long:    "Show whom your key stands for, what it may do, and on which server.",
		Example: "  berth whoami\n  berth whoami --context prod --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.whoami(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}

func (a *app) whoami(ctx context.Context, asJSON bool) error {
	e, err := a.endpoint()
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	who, err := c.WhoAmI(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(struct {
			berth.Principal
			Server  string `json:"server,omitempty"`
			Context string `json:"context,omitempty"`
		}{who, e.server, e.name()})
	}
	var t terminal.Table
	t.Row("name", who.Name)
	t.Row("scopes", scopeList(who.Scopes))
	if who.Key != "" {
		t.Row("key", string(who.Key))
	}
	if who.Host != "" {
		t.Row("host", string(who.Host))
	}
	t.Row("server", a.place(e))
	return t.Print(a.stdout, "")
}
