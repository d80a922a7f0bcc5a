package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

func envImportCommand(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Create environments from a catalogue",
		Long: `Create every environment of a catalogue: TOML or JSON with [environments.NAME]
tables, as ` + "`berth env export`" + ` writes it. - is standard input. One that exists is a
conflict unless it is to be replaced; the others are still made.`,
		Example: "  berth env import environments.toml\n  berth env export | BERTH_SERVER=https://other berth env import --replace -",
		Args:    exactArgs("the catalogue's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables, err := a.readCatalogue(args[0])
			if err != nil {
				return err
			}
			return a.envImport(cmd.Context(), tables, replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace environments that exist")
	return cmd
}

// readCatalogue returns the tables of a catalogue by the names of their environments.
func (a *app) readCatalogue(path string) (map[string]map[string]any, error) {
	tree, err := a.readDocument(path)
	if err != nil {
		return nil, err
	}
	entries, ok := tree["environments"].(map[string]any)
	if !ok || len(tree) != 1 {
		e := berth.Errorf(berth.CodeInvalid, "%s must hold [environments.NAME] tables and nothing else", inputName(path))
		e.Remediation = "for a single environment use `berth env create NAME --file FILE`"
		return nil, e
	}
	tables := make(map[string]map[string]any, len(entries))
	for name, entry := range entries {
		table, ok := entry.(map[string]any)
		if !ok {
			return nil, berth.FieldErrorf(berth.CodeInvalid, "environments."+name, "must be a table")
		}
		table["id"] = name
		tables[name] = table
	}
	return tables, nil
}

func (a *app) envImport(ctx context.Context, tables map[string]map[string]any, replace bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return a.forEach(slices.Sorted(maps.Keys(tables)), func(name string) error {
		done, err := importOne(ctx, c, tables[name], replace)
		if err != nil {
			return err
		}
		a.note("%s environment %s", done, name)
		return nil
	})
}

// importOne says what it did: created or replaced.
func importOne(ctx context.Context, c *client.Client, table map[string]any, replace bool) (string, error) {
	_, err := c.CreateEnvironment(ctx, table)
	if !replace || berth.CodeOf(err) != berth.CodeConflict {
		return "created", withRemedy(err, berth.CodeConflict, "replace it with --replace")
	}
	current, err := c.FindEnvironment(ctx, berth.EnvironmentID(table["id"].(string)))
	if err != nil {
		return "", err
	}
	_, err = c.ReplaceEnvironment(ctx, current.ID, current.ETag, table)
	return "replaced", err
}
