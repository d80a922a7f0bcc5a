package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func keyListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List API keys, without their values",
		Long: `List API keys: the beginning of each, what it may do, when it expires and was
last used (to the minute).`,
		Example: "  berth key list\n  berth key list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.keyList(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) keyList(ctx context.Context, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	keys, err := collect(client.All(ctx, c.ListKeys))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.Key]{Items: keys})
	}
	if len(keys) == 0 {
		a.note("no keys")
		return nil
	}
	short := shortIDs(keyIDs(keys))
	var t terminal.Table
	t.Row("KEY", "NAME", "VALUE", "SCOPES", "CREATED", "EXPIRY", "LAST USED")
	for _, k := range keys {
		used := "never"
		if k.LastUsedAt != nil {
			used = a.ago(*k.LastUsedAt)
		}
		t.Row(short[string(k.ID)], k.Name, "bth_"+k.Prefix+"…", scopeList(k.Scopes), a.ago(k.CreatedAt), a.expiry(k), used)
	}
	return t.Print(a.stdout, "")
}

func keyIDs(keys []berth.Key) []string {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = string(k.ID)
	}
	return ids
}
