package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/terminal"
)

type variableFlags struct {
	file       string
	createOnly bool
}

func varSetCommand(a *app) *cobra.Command {
	var f variableFlags
	cmd := &cobra.Command{
		Use: "set NAME VALUE", Short: "Set a variable",
		Example: `  berth var set REGION eu-central-1
  berth var set GREETING --from-file greeting.txt
  date | berth var set BUILT_AT --from-file -`,
		ValidArgsFunction: a.completeVariables,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, value, err := a.variable(cmd, args, f)
			if err != nil {
				return err
			}
			return a.varSet(cmd.Context(), name, value, f.createOnly)
		},
	}
	cmd.Flags().StringVar(&f.file, "from-file", "", "read the value from this `file`, byte for byte; - is standard input")
	cmd.Flags().BoolVar(&f.createOnly, "create-only", false, "leave a variable that exists as it is, and fail")
	return cmd
}

// variable takes NAME VALUE, NAME=VALUE, or NAME with --from-file.
func (a *app) variable(cmd *cobra.Command, args []string, f variableFlags) (name, value string, err error) {
	if f.file != "" {
		if err := exactArgs("the variable's name")(cmd, args); err != nil {
			return "", "", err
		}
		data, err := a.readInput(f.file, maxDocument)
		return args[0], string(data), err
	}
	if len(args) == 1 {
		if name, value, ok := strings.Cut(args[0], "="); ok {
			return name, value, nil
		}
	}
	if err := exactArgs("the variable's name", "the variable's value")(cmd, args); err != nil {
		return "", "", err
	}
	return args[0], args[1], nil
}

func (a *app) varSet(ctx context.Context, name, value string, createOnly bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.PutVariable(ctx, name, value, createOnly); err != nil {
		return err
	}
	a.note("set variable %s", terminal.Clean(name))
	return nil
}
