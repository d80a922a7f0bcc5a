package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func varListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List variables with their values",
		Example: "  berth var list\n  berth var list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.varList(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) varList(ctx context.Context, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	variables, err := collect(client.All(ctx, c.ListVariables))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Variable]{Items: variables})
	}
	if len(variables) == 0 {
		a.note("no variables")
		return nil
	}
	var t terminal.Table
	t.Row("VARIABLE", "UPDATED", "VALUE")
	for _, v := range variables {
		t.Row(v.Name, a.ago(v.UpdatedAt), oneLine(v.Value))
	}
	return t.Print(a.stdout, "")
}
