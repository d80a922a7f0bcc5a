package main

import "github.com/spf13/cobra"

func keyCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "key", Aliases: []string{"keys"}, Short: "Manage the server's API keys",
		Long: `Manage the server's API keys. A key's value is shown once, when it is made; the
server keeps a hash of it. What a key may do are its scopes, which do not include
each other: read (look), run (runs, sandboxes, commands, files), admin
(environments, variables, secrets, keys).`,
		Example: "  berth key create ci --scope read --scope run --expires 90d\n  berth key list\n  berth key rm ci",
	},
		keyCreateCommand(a), keyListCommand(a), keyRemoveCommand(a))
}
