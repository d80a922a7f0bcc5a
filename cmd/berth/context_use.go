package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/terminal"
)

func contextUseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a context the current one",
		Long:              "Make a context the current one: the one of commands that name no server. `local` is the server on this machine.",
		Example:           "  berth context use prod\n  berth context use local",
		Args:              exactArgs("the context's name"),
		ValidArgsFunction: firstOnly(a.completeContexts),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.contextUse(cmd.Context(), args[0]) },
	}
}

func (a *app) contextUse(ctx context.Context, name string) error {
	place := "this machine"
	err := a.changeCredentials(ctx, func(f *credentials.File) error {
		if name == credentials.Local {
			f.Current = ""
			return nil
		}
		c, err := findContext(*f, name)
		if err != nil {
			return err
		}
		f.Current, place = c.Name, c.Server
		return nil
	})
	if err != nil {
		return err
	}
	a.note("commands now talk to %s (context %s)", terminal.Clean(place), name)
	a.noteBeaten()
	return nil
}

// noteBeaten tells when the environment beats the current context.
func (a *app) noteBeaten() {
	for _, name := range []string{"BERTH_SERVER", "BERTH_CONTEXT", "BERTH_DATA_DIR"} {
		if a.env[name] != "" {
			a.say("warning: %s is set, and beats the current context", name)
			return
		}
	}
}
