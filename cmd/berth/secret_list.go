package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func secretListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List secrets, without their values",
		Example: "  berth secret list\n  berth secret list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.secretList(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) secretList(ctx context.Context, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	secrets, err := collect(client.All(ctx, c.ListSecrets))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Secret]{Items: secrets})
	}
	if len(secrets) == 0 {
		a.note("no secrets")
		return nil
	}
	var t terminal.Table
	t.Row("SECRET", "TYPE", "UPDATED", "DESCRIPTION")
	for _, s := range secrets {
		t.Row(s.Name, string(s.Type), a.ago(s.UpdatedAt), cmp.Or(oneLine(s.Description), "-"))
	}
	return t.Print(a.stdout, "")
}
