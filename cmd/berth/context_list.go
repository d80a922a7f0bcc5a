package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/terminal"
)

// contextView is a context as it is shown: without its key.
type contextView struct {
	Name    string `json:"name"`
	Server  string `json:"server,omitempty"`
	Prefix  string `json:"prefix,omitempty"`
	Current bool   `json:"current"`
}

func contextListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List contexts; the current one has a star",
		Example: "  berth context list\n  berth context list --json",
		Args:    exactArgs(),
		RunE:    func(*cobra.Command, []string) error { return a.contextList(asJSON) },
	}
	jsonFlag(cmd, &asJSON, "them")
	return cmd
}

func (a *app) contextList(asJSON bool) error {
	file, err := a.credentials()
	if err != nil {
		return err
	}
	views := []contextView{{Name: credentials.Local, Current: file.Current == ""}}
	for _, c := range file.List() {
		views = append(views, contextView{c.Name, c.Server, c.Shown(), c.Name == file.Current})
	}
	if asJSON {
		return a.printJSON(struct {
			Items []contextView `json:"items"`
		}{views})
	}
	var t terminal.Table
	t.Row("", "CONTEXT", "SERVER", "KEY")
	for _, v := range views {
		star, key := "", "-"
		if v.Current {
			star = "*"
		}
		if v.Prefix != "" {
			key = "bth_" + v.Prefix + "…"
		}
		t.Row(star, v.Name, cmp.Or(v.Server, "this machine"), key)
	}
	return t.Print(a.stdout, "")
}
