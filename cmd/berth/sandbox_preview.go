package main

import (
	"cmp"
	"context"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

type previewFlags struct {
	listen, ttl   string
	browser, json bool
}

func sandboxPreviewCommand(a *app) *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use: "preview SANDBOX|RUN PORT", Short: "Reach a port of a sandbox from this machine",
		Long: `Reach a TCP port of a sandbox, such as that of a web server in it.

Where there is a URL of the port for browsers (hosts with a public URL, daytona,
sprites, ssh with preview_url_base), it is printed, and that is all. Whoever has it
may use it; that of a host lets in the one browser that opens it first, within ten
minutes, for 8 hours or --ttl.
Elsewhere, and with --listen, a port of this machine leads to the sandbox's until
this program is interrupted, and its URL is printed. It reaches what listens on the
sandbox's loopback address, whatever network the sandbox has.`,
		Example: `  berth sandbox preview 01k5m3v9x2qg 8080
  berth sandbox preview 01k5m3v9x2qg 3000 --browser --ttl 30m
  berth sandbox preview 01k5m3v9x2qg 5432 --listen 127.0.0.1:15432`,
		Args:              previewArgs,
		ValidArgsFunction: firstOnly(a.completeReadySandboxes),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil || port < 1 || port > 65535 {
				return usagef(cmd, "the port %q must be a number from 1 to 65535", args[1])
			}
			if f.browser && f.listen != "" {
				return usagef(cmd, "--browser asks for a URL, and --listen for a port of this machine: leave one away")
			}
			return a.sandboxPreview(cmd.Context(), args[0], port, f)
		},
	}
	cmd.Flags().BoolVar(&f.browser, "browser", false, "print a URL that browsers everywhere open, or say why there is none")
	cmd.Flags().StringVar(&f.listen, "listen", "", "`address:port` of this machine to lead there, also where there is a URL; port 0 is any that is free (default 127.0.0.1:0)")
	cmd.Flags().StringVar(&f.ttl, "ttl", "", "let a URL be good for this `time`, such as 30m (default: the provider's own, or 8h on a host)")
	jsonFlag(cmd, &f.json, "the url that was opened")
	return cmd
}

func previewArgs(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 2:
		return nil
	case 0:
		return usagef(cmd, "the sandbox's id and the port are missing")
	case 1:
		return usagef(cmd, "the port is missing: berth sandbox preview %s PORT", args[0])
	}
	return usagef(cmd, "there is one argument too many: %q", args[2])
}

// opened is what --json prints.
type opened struct {
	Sandbox berth.SandboxID `json:"sandbox"`
	Port    int             `json:"port"`
	URL     string          `json:"url"`
}

func (a *app) sandboxPreview(ctx context.Context, arg string, port int, f previewFlags) error {
	req := berth.PreviewRequest{Port: port}
	switch {
	case f.browser:
		req.As = berth.PreviewURL
	case f.listen != "":
		req.As = berth.PreviewTicket
	}
	f.listen = cmp.Or(f.listen, "127.0.0.1:0")
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return berth.FieldErrorf(berth.CodeInvalid, "--listen", "must be an address and a port, such as 127.0.0.1:8080")
	}
	return a.enter(ctx, arg, f.ttl, func(c *client.Client, id berth.SandboxID, ttl berth.Duration) error {
		req.TTL = ttl
		access, err := c.OpenPreview(ctx, id, req)
		switch {
		case err != nil:
			return err
		case access.URL != "":
			return a.tellURL(opened{id, port, access.URL}, f.json)
		case access.Ticket == nil:
			return berth.Errorf(berth.CodeInternal, "the server opened neither a URL nor a ticket")
		}
		w := &forward{app: a, client: c, sandbox: id, req: req, ticket: *access.Ticket}
		w.req.As = berth.PreviewTicket
		return w.run(ctx, f)
	})
}

func (a *app) tellURL(o opened, asJSON bool) error {
	if asJSON {
		return a.printJSON(o)
	}
	return a.printf("%s\n", terminal.Clean(o.URL))
}
