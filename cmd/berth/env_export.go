package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func envExportCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "export [NAME...]", Short: "Print environments as a catalogue",
		Long: `Print environments, all that are stored unless some are named, as a catalogue that
` + "`berth env import`" + ` takes. Secrets are in it by name alone.`,
		Example:           "  berth env export > environments.toml\n  berth env export ci web --json",
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			environments, err := a.exported(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.printCatalogue(environments, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) exported(ctx context.Context, names []string) ([]berth.Environment, error) {
	c, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if len(names) == 0 {
		return storedEnvironments(ctx, c)
	}
	var out []berth.Environment
	for _, name := range names {
		e, err := c.FindEnvironment(ctx, berth.EnvironmentID(name))
		if err != nil {
			return nil, nearEnvironment(ctx, c, berth.EnvironmentID(name), err)
		}
		out = append(out, e.Environment)
	}
	return out, nil
}

// storedEnvironments leaves `local` out: it is not stored and could not be imported.
func storedEnvironments(ctx context.Context, c *client.Client) ([]berth.Environment, error) {
	var out []berth.Environment
	for e, err := range client.All(ctx, c.ListEnvironments) {
		if err != nil {
			return nil, err
		}
		if e.ID != berth.LocalEnvironmentID {
			out = append(out, e)
		}
	}
	return out, nil
}

func (a *app) printCatalogue(environments []berth.Environment, asJSON bool) error {
	if asJSON {
		byName := make(map[berth.EnvironmentID]berth.Environment, len(environments))
		for _, e := range environments {
			byName[e.ID] = e
		}
		return a.printJSON(map[string]any{"environments": byName})
	}
	for i, e := range environments {
		text, err := environmentTOML(e, []string{"environments", string(e.ID)})
		if err != nil {
			return err
		}
		if i > 0 {
			text = "\n" + text
		}
		if err := a.printf("%s", text); err != nil {
			return err
		}
	}
	return nil
}
