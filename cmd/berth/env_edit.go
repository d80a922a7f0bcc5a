package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

type editFlags struct {
	set, unset  []string
	patch, file string
	asJSON      bool
}

func envEditCommand(a *app) *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use: "edit NAME", Short: "Change an environment",
		Long: `Change an environment: in an editor ($VISUAL, $EDITOR), or by flags. A change that
somebody else made in the meantime is never overwritten.

Fields are named by path, such as resources.memory, env.NAME or labels.NAME. A
value is taken as the field's type; network.allow takes values with commas.`,
		Example: `  berth env edit ci
  berth env edit ci --set resources.memory=8GB --set env.MODE=test --unset cwd
  berth env edit ci --patch '{"network": {"mode": "block"}}'
  berth env edit ci --file ci.toml`,
		Args:              exactArgs("the environment's name"),
		ValidArgsFunction: a.completeEnvironments,
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := f.mergePatch(a, cmd)
			if err != nil {
				return err
			}
			return a.envEdit(cmd.Context(), berth.EnvironmentID(args[0]), patch, f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "set `FIELD=VALUE`; may be repeated")
	flags.StringArrayVar(&f.unset, "unset", nil, "take `FIELD` back to its default; may be repeated")
	flags.StringVar(&f.patch, "patch", "", "apply this `JSON` merge patch; - is standard input")
	flags.StringVarP(&f.file, "file", "f", "", "replace all fields by those of this TOML or JSON `file`; - is standard input")
	jsonFlag(cmd, &f.asJSON, "the environment")
	cmd.MarkFlagsMutuallyExclusive("patch", "set", "file")
	cmd.MarkFlagsMutuallyExclusive("patch", "unset", "file")
	return cmd
}

// mergePatch is the change that the flags ask for; nil when there is none.
func (f editFlags) mergePatch(a *app, cmd *cobra.Command) (map[string]any, error) {
	switch {
	case f.patch != "":
		data := []byte(f.patch)
		if f.patch == "-" {
			var err error
			if data, err = a.readInput("-", maxDocument); err != nil {
				return nil, err
			}
		}
		return parseDocument(data, true)
	case len(f.set)+len(f.unset) == 0:
		return nil, nil
	}
	patch := map[string]any{}
	for _, entry := range f.set {
		path, value, ok := strings.Cut(entry, "=")
		if !ok || path == "" {
			return nil, usagef(cmd, "--set must be FIELD=VALUE")
		}
		setField(patch, fieldPath(path), fieldValue(path, value))
	}
	for _, path := range f.unset {
		setField(patch, fieldPath(path), nil)
	}
	return patch, nil
}

// fieldPath splits a path at its dots. Names of labels and variables may hold
// dots themselves.
func fieldPath(path string) []string {
	parts := strings.Split(path, ".")
	if (parts[0] == "env" || parts[0] == "labels") && len(parts) > 2 {
		return []string{parts[0], strings.Join(parts[1:], ".")}
	}
	return parts
}

// fieldValue reads a value as the type that its field has. What does not fit
// stays text, which the server refuses with the field's name.
func fieldValue(path, value string) any {
	switch path {
	case "resources.cpu", "docker.pool_size":
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	case "lifecycle.preserve", "lifecycle.stop_on_terminal", "docker.auto_pull":
		if b, err := strconv.ParseBool(value); err == nil {
			return b
		}
	case "network.allow", "docker.extra_mounts":
		if value == "" {
			return []string{}
		}
		return strings.Split(value, ",")
	}
	return value
}

func (a *app) envEdit(ctx context.Context, id berth.EnvironmentID, patch map[string]any, f editFlags) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	current, err := c.FindEnvironment(ctx, id)
	if err != nil {
		return nearEnvironment(ctx, c, id, err)
	}
	var changed client.Environment
	switch {
	case patch != nil:
		changed, err = c.UpdateEnvironment(ctx, id, current.ETag, patch)
	case f.file != "":
		changed, err = a.replaceFromFile(ctx, c, current, f.file)
	default:
		changed, err = a.editByHand(ctx, c, current)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(changed.Environment)
	}
	if changed.ETag == current.ETag {
		a.note("environment %s is unchanged", id)
	} else {
		a.note("changed environment %s", id)
	}
	return nil
}

func (a *app) replaceFromFile(ctx context.Context, c *client.Client, current client.Environment, file string) (client.Environment, error) {
	tree, err := a.readDocument(file)
	if err != nil {
		return client.Environment{}, err
	}
	return a.replace(ctx, c, current, tree)
}

// replace puts a tree, which may leave the id out.
func (a *app) replace(ctx context.Context, c *client.Client, current client.Environment, tree map[string]any) (client.Environment, error) {
	if _, ok := tree["id"]; !ok {
		tree["id"] = string(current.ID)
	}
	return c.ReplaceEnvironment(ctx, current.ID, current.ETag, tree)
}

// sameTree reports whether two trees mean the same JSON.
func sameTree(a, b map[string]any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
