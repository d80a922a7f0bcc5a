package main

import (
	"context"
	"maps"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/terminal"
)

type hostAddFlags struct {
	labels []string
	asJSON bool
}

func hostAddCommand(a *app) *cobra.Command {
	var f hostAddFlags
	cmd := &cobra.Command{
		Use: "add [NAME]", Short: "Make the token that a host joins with, and show it, once",
		Long: `Make the token that a host joins with. The command to run on the host is printed on
standard output; the token in it is good once, for 10 minutes, and not shown again.

A host that has not joined yet may be added again: it gets a new token, and the one
before counts no more. Its labels stay, and those that are given are set beside them;
to drop one, remove the host first: berth host rm NAME.`,
		Example: `  berth host add eu-1
  berth host add gpu-1 --label zone=a --label gpu=true
  berth host add --json`,
		Args: mayArg("the host's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hostAdd(cmd.Context(), cmd, strings.Join(args, ""), f)
		},
	}
	cmd.Flags().StringArrayVarP(&f.labels, "label", "l", nil, "`NAME=VALUE` that environments choose hosts by; may be repeated")
	jsonFlag(cmd, &f.asJSON, "the host and its token")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func (a *app) hostAdd(ctx context.Context, cmd *cobra.Command, name string, f hostAddFlags) error {
	labels, err := pairs(cmd, "label", f.labels)
	if err != nil {
		return err
	}
	req := berth.HostRequest{ID: berth.HostID(name), Labels: labels}
	if err := berth.Invalid(berth.ValidateHostRequest(req)); err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	token, err := c.AddHost(ctx, req)
	if err != nil {
		return err
	}
	a.note("host %s may join until %s, once; run this on it:", token.Host.ID, terminal.Clean(token.ExpiresAt.Local().Format("15:04:05")))
	if kept := labelsBeside(token.Host.Labels, labels); kept != "" {
		a.note("it keeps the labels %s; to drop one, remove the host first: berth host rm %s", kept, token.Host.ID)
	}
	if u, err := url.Parse(c.Server()); err == nil && credentials.IsLoopback(u.Hostname()) {
		a.note("%s leads to this machine alone, and must stay the same: a host elsewhere needs the URL at which it reaches the server", terminal.Clean(c.Server()))
	}
	if f.asJSON {
		return a.printJSON(token)
	}
	return a.printf("berth-agent join %s --token %s\n", berth.ShellQuote(c.Server()), token.Token)
}

// labelsBeside shows those of all that were not given now.
func labelsBeside(all, given map[string]string) string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, now := given[name]; return now })
	return labelsText(kept)
}
