package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
)

func logoutCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "logout [NAME]", Short: "Forget a server and your key for it",
		Long: `Forget the current context, or the one that is named, and its key on this machine.
The key itself still counts, until ` + "`berth key rm`" + ` removes it from the server.`,
		Example:           "  berth logout\n  berth logout staging",
		Args:              mayArg("the context's name"),
		ValidArgsFunction: firstOnly(a.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.forget(cmd.Context(), args[0])
			}
			return a.logout(cmd.Context())
		},
	}
}

// logout forgets the context that commands would use.
func (a *app) logout(ctx context.Context) error {
	e, err := a.endpoint()
	if err != nil {
		return err
	}
	if e.context == nil {
		e := berth.Errorf(berth.CodeNotFound, "no context is in use that you could log out of")
		e.Remediation = "name one: `berth context list` shows them"
		return e
	}
	return a.forget(ctx, e.context.Name)
}

// forget removes a context from this machine.
func (a *app) forget(ctx context.Context, name string) error {
	if err := reservedLocal(name); err != nil {
		return err
	}
	var gone credentials.Context
	current := false
	err := a.changeCredentials(ctx, func(f *credentials.File) error {
		var err error
		if gone, err = findContext(*f, name); err != nil {
			return err
		}
		current = f.Current == name
		f.Remove(name)
		return nil
	})
	if err != nil {
		return err
	}
	a.note("forgot context %s; its key still counts on %s until `berth key rm` removes it there", name, gone.Server)
	if current {
		a.note("commands now talk to the server on this machine; `berth context use` chooses another")
	}
	return nil
}
