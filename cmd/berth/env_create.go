package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

func envCreateCommand(a *app) *cobra.Command {
	var f environmentFlags
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create an environment",
		Long: `Create an environment from a file, from flags, or from both: flags win. A file is
TOML or JSON with the fields of docs/environments.md; - is standard input. A
Dockerfile that it names by path is read and sent.`,
		Example: `  berth env create ci --provider docker --image buildpack-deps:noble --cpu 2 --memory 4GB
  berth env create host --provider local --cwd /srv/work --env 'TOKEN={{ secrets.API_TOKEN }}'
  berth env create web --file web.toml
  berth env show ci --json | berth env create ci2 --file -`,
		Args: exactArgs("the environment's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := a.newEnvironment(cmd, args[0], file, f)
			if err != nil {
				return err
			}
			return a.envCreate(cmd.Context(), tree, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the environment from this TOML or JSON `file`; - is standard input")
	jsonFlag(cmd, &asJSON, "the environment")
	return cmd
}

// newEnvironment is the body of a creation.
func (a *app) newEnvironment(cmd *cobra.Command, name, file string, f environmentFlags) (map[string]any, error) {
	tree := map[string]any{}
	if file != "" {
		var err error
		if tree, err = a.readDocument(file); err != nil {
			return nil, err
		}
		if _, catalogue := tree["environments"]; catalogue {
			return nil, usagef(cmd, "%s is a catalogue of environments; `berth env import` takes it", inputName(file))
		}
	}
	if err := f.apply(a, cmd, tree); err != nil {
		return nil, err
	}
	if _, ok := tree["provider"]; !ok {
		e := berth.FieldErrorf(berth.CodeInvalid, "provider", "is missing")
		e.Remediation = "give --provider " + orList(providerNames())
		return nil, e
	}
	tree["id"] = name
	return tree, nil
}

func (a *app) envCreate(ctx context.Context, tree map[string]any, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := c.CreateEnvironment(ctx, tree)
	if err != nil {
		return withRemedy(err, berth.CodeConflict, "change it with `berth env edit`, or choose another name")
	}
	if asJSON {
		if err := a.printJSON(e.Environment); err != nil {
			return err
		}
	} else {
		a.note("created environment %s (%s)", e.ID, e.Provider)
	}
	if !a.quiet {
		a.warnWhenOff(ctx, c, e.ID)
	}
	return nil
}
