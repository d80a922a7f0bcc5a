package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func keyRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm KEY...", Short: "Remove API keys",
		Long: `Remove API keys by id, beginning of an id, or name. A removed key counts no more,
at once; on AWS the gateway may remember it for a minute.`,
		Example:           "  berth key rm ci\n  berth key rm 01k5m3v9x2qf",
		Args:              someArgs("the key"),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			return a.forEach(args, func(arg string) error { return a.keyRemove(cmd.Context(), c, arg) })
		},
	}
}

func (a *app) keyRemove(ctx context.Context, c *client.Client, arg string) error {
	key, err := findKey(ctx, c, arg)
	if err != nil {
		return err
	}
	if err := c.DeleteKey(ctx, key.ID); err != nil {
		return err
	}
	a.note("removed key %s (%s)", terminal.Clean(key.Name), key.ID)
	return nil
}

// findKey finds the one key of an id, of the beginning of an id, or of a name.
// Errors: not_found, conflict with the candidates.
func findKey(ctx context.Context, c *client.Client, arg string) (berth.Key, error) {
	var found []berth.Key
	id := berth.FoldID(arg)
	for key, err := range client.All(ctx, c.ListKeys) {
		if err != nil {
			return berth.Key{}, err
		}
		if key.Name == arg || berth.IsIDPrefix(id) && strings.HasPrefix(string(key.ID), id) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		e := berth.Errorf(berth.CodeNotFound, "no key has this name or id")
		e.Remediation = "`berth key list` shows them"
		return berth.Key{}, e
	case 1:
		return found[0], nil
	}
	return berth.Key{}, berth.Errorf(berth.CodeConflict, "%d keys have this name or begin so: %s", len(found), strings.Join(keyIDs(found), ", "))
}
