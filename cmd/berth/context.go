package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/credentials"
)

func contextCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "context", Aliases: []string{"contexts"}, Short: "Choose among the servers that you are logged in to",
		Long: `Choose among the servers that you are logged in to. A context is a server under a
name, with your key for it. It is made by ` + "`berth login`" + `; ` + credentials.Local + ` is the server on this
machine and is always there.

Commands talk to the server of --server, else BERTH_SERVER, else of the context
of --context or BERTH_CONTEXT, else, when no data folder is named, of the current
context.`,
		Example: "  berth context list\n  berth context use prod\n  berth context use local",
	},
		contextListCommand(a), contextUseCommand(a), contextShowCommand(a), contextRemoveCommand(a))
}

// name is that of the context; empty when none chose the endpoint.
func (e endpoint) name() string {
	if e.context == nil {
		return ""
	}
	return e.context.Name
}

// place says where an endpoint is.
func (a *app) place(e endpoint) string {
	switch {
	case e.context != nil:
		return fmt.Sprintf("%s (context %s)", e.server, e.context.Name)
	case e.server != "":
		return e.server
	}
	dir, err := a.dataFolder()
	if err != nil {
		return "this machine"
	}
	return "this machine, data folder " + dir
}
