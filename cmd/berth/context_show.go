package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/terminal"
)

func contextShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show which server commands talk to, and why",
		Long:              "Show which server commands talk to, which setting chose it, and the beginning of the key that is sent. With a name, show that context.",
		Example:           "  berth context show\n  berth context show prod --json",
		Args:              mayArg("the context's name"),
		ValidArgsFunction: firstOnly(a.completeContexts),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				e, err := a.contextEndpoint(args[0], "its name")
				return a.contextShow(e, err, asJSON)
			}
			e, err := a.endpoint()
			return a.contextShow(e, err, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "it")
	return cmd
}

func (a *app) contextShow(e endpoint, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	token := ""
	if e.server != "" {
		if token, err = a.token(e); err != nil {
			return err
		}
	}
	view := struct {
		Context string `json:"context"`
		Server  string `json:"server"`
		By      string `json:"by"`
		Prefix  string `json:"prefix"`
	}{cmp.Or(e.name(), "-"), e.server, e.by, access.Shown(token)}
	if asJSON {
		view.Context = e.name()
		return a.printJSON(view)
	}
	key := "none"
	switch {
	case e.server == "":
		key = "that of the data folder"
	case view.Prefix != "":
		key = "bth_" + view.Prefix + "…"
	case token != "":
		key = "one of another form"
	}
	var t terminal.Table
	t.Row("context", view.Context)
	t.Row("server", cmp.Or(e.server, a.place(e)))
	t.Row("chosen by", view.By)
	t.Row("key", key)
	return t.Print(a.stdout, "")
}
